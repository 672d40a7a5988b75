package bridge_test

import (
	"context"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A request that the policy drops is only counted. Nothing of it waits for a hand-over, and every reader finds it in the counts.
func TestDroppedRequestsAreCounted(t *testing.T) {
	for name, work := range map[string]func(context.Context){
		"nothing under it": func(context.Context) {},
		"a mark":           func(ctx context.Context) { marks.Mark(ctx, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			timeline, table := observer.NewTimeline(observer.TimelineOptions{}), routes.NewTable(routes.Config{})
			p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
				Timeline: timeline, Sampler: sdktrace.NeverSample(), Keep: &bridge.KeepPolicy{Slow: -1}, Recorders: []bridge.Output{&keptSpans{table: table}},
			})
			defer func() { _ = p.Shutdown(t.Context()) }()
			tracer := p.Tracer("")
			const each, goroutines = 100, 8
			var all sync.WaitGroup
			for range goroutines {
				all.Go(func() {
					for range each {
						ctx, span := tracer.Start(t.Context(), "GET", trace.WithSpanKind(trace.SpanKindServer))
						work(ctx)
						span.End()
					}
				})
			}
			all.Wait()
			if n := (*record.Timeline)(timeline).UnitStats().Waiting; n > 0 {
				t.Errorf("%d units wait", n)
			}
			if n := count(table); n != each*goroutines {
				t.Errorf("the routes have %d requests, want %d", n, each*goroutines)
			}
			if n := p.RequestCounts()["other"]; n != each*goroutines {
				t.Errorf("%d requests are counted, want %d", n, each*goroutines)
			}
		})
	}
}

// count returns how many requests a table has counted.
func count(table *routes.Table) (n uint64) {
	for _, r := range table.Summaries(routes.SinceStart).Routes {
		n += r.Count
	}
	return n
}
