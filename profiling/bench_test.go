package profiling_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/internal/labels"
)

// What labels add to a span.
func BenchmarkSpans(b *testing.B) {
	labelled := bridge.WithLabeler(profiling.SpanLabels{})
	for _, c := range []struct {
		name string
		opts []bridge.Option
		hold func() func()
	}{
		{"no labeler", nil, nil}, {"off", []bridge.Option{labelled}, nil}, {"on", []bridge.Option{labelled}, labels.Hold},
		{"local roots", []bridge.Option{labelled}, labels.HoldLocalRoots}, // those of "span" are, the others are under one
	} {
		tl := observer.NewTimeline(observer.TimelineOptions{})
		discard := sdktrace.NewBatchSpanProcessor(nil)
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(
			bridge.NewProcessor(discard, append(c.opts, bridge.WithTimeline(tl))...)))
		tracer := tp.Tracer("t")
		ctx := observer.NewContext(context.Background(), tl)
		release := func() {}
		if c.hold != nil {
			release = c.hold()
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
