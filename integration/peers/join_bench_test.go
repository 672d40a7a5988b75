package peers_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
)

// BenchmarkSpanOfOthers is a span of other instrumentation, eight to a request:
// under the request's timeline, which it joins, and beside it, where it does not.
// The difference is what joining costs.
func BenchmarkSpanOfOthers(b *testing.B) {
	for _, joins := range []bool{false, true} {
		name := "beside a request"
		if joins {
			name = "joins its request"
		}
		b.Run(name, func(b *testing.B) {
			tl := observer.NewTimeline(observer.TimelineOptions{})
			provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl})))
			tracer := provider.Tracer("somebody else's")
			kind := trace.WithSpanKind(trace.SpanKindClient)
			b.ReportAllocs()
			var ctx context.Context
			var child *observer.Timeline
			for i := 0; b.Loop(); i++ {
				if i%8 == 0 {
					if child != nil {
						child.Close()
					}
					child = tl.NewChild()
					ctx = observer.NewContext(context.Background(), child)
					if !joins {
						ctx = observer.NewContext(context.Background(), tl)
					}
				}
				_, span := tracer.Start(ctx, "sql.conn.query", kind)
				span.End()
			}
			b.ReportMetric(float64(tl.Stats()[observer.Resource].Recorded)/float64(b.N), "entries/op") // below 1: lost, and the time is worth nothing
			if err := provider.Shutdown(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
