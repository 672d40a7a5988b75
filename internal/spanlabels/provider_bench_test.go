package spanlabels_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// The cost of a span with labels and without.
func BenchmarkSpans(b *testing.B) {
	for _, c := range []struct {
		name   string
		labels bool
		hold   spanlabels.Selection // 0: nothing samples
	}{
		{"no labels", false, 0}, {"off", true, 0}, {"on", true, spanlabels.EverySpan},
		{"local roots", true, spanlabels.LocalRoots}, // the spans of "span" are local roots, the others are under one
	} {
		tl := observer.NewTimeline(observer.TimelineOptions{})
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(sdktrace.NewBatchSpanProcessor(nil)),
			sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl})))
		var labels trace.TracerProvider = tp
		if c.labels {
			labels = spanlabels.WrapTracerProvider(tp)
		}
		tracer := labels.Tracer("t")
		ctx := observer.NewContext(context.Background(), tl)
		release := func() {}
		if c.hold != 0 {
			release = spanlabels.Hold(c.hold)
		}
		b.Run("span/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, span := tracer.Start(ctx, "a span of a usual name")
				span.End()
			}
		})
		under, span := tracer.Start(ctx, "outer")
		b.Run("marks.Start/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, t := marks.Start(under, "a span of a usual name")
				t.End()
			}
		})
		span.End()
		release()
		if err := tp.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
	}
}
