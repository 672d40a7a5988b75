package bridge_test

import (
	"context"
	"log/slog"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/observer/observertest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Both ways to OpenTelemetry are sinks as any other.
func TestSinks(t *testing.T) {
	noLimits := sdktrace.NewSpanLimits()
	noLimits.EventCountLimit = -1
	t.Run("Processor", func(t *testing.T) {
		observertest.TestSink(t, func(t *testing.T, tl *observer.Timeline) observertest.Sink {
			got := &recorder{}
			proc := bridge.NewProcessor(got, bridge.WithTimeline(tl), bridge.WithSpanLimits(noLimits))
			return sink(t, got, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc)))
		})
	})
	t.Run("Sync", func(t *testing.T) {
		observertest.TestSink(t, func(t *testing.T, tl *observer.Timeline) observertest.Sink {
			got := &recorder{}
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(got), sdktrace.WithRawSpanLimits(noLimits))
			stop, err := bridge.Sync(tp, bridge.WithTimeline(tl))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
			return sink(t, got, tp)
		})
	})
}

func sink(t *testing.T, got *recorder, tp *sdktrace.TracerProvider) observertest.Sink {
	t.Cleanup(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	ctx, span := tp.Tracer("test").Start(context.Background(), "parent")
	return observertest.Sink{
		Context:  ctx,
		Unsigned: true, // a span does not end before it starts
		Received: func() []observertest.Record {
			span.End()
			if err := tp.ForceFlush(context.Background()); err != nil {
				t.Fatal(err)
			}
			var out []observertest.Record
			for _, s := range got.all() {
				if s.Name() != "parent" {
					out = append(out, observertest.Record{
						Type: observer.Measure, Name: s.Name(), Start: s.StartTime(),
						Duration: s.EndTime().Sub(s.StartTime()), Attrs: slogAttrs(s.Attributes()),
					})
				}
				for _, e := range s.Events() {
					out = append(out, observertest.Record{Type: observer.Mark, Name: e.Name, Start: e.Time, Attrs: slogAttrs(e.Attributes)})
				}
			}
			return out
		},
	}
}

func slogAttrs(kvs []attribute.KeyValue) (out []slog.Attr) {
	for _, kv := range kvs {
		out = append(out, slog.Any(string(kv.Key), kv.Value.AsInterface()))
	}
	return out
}
