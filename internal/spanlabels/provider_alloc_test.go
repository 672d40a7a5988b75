//go:build !perfline_portable && !race

// The race detector allocates on its own account.

package spanlabels_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A label is one allocation, and a context of the SDK's that carries it another. perfline's own contexts carry it. The collector is
// held off: AllocsPerRun counts what other goroutines allocate too.
func TestAllocs(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1 << 18})
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(sdktrace.NewBatchSpanProcessor(nil)),
		sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl})))
	labelling := spanlabels.WrapTracerProvider(tp).Tracer("t")
	defer func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	base := observer.NewContext(context.Background(), tl)
	for range 1 << 15 { // fill the pool of chunks
		marks.Mark(base, "warm")
	}
	(*record.Timeline)(tl).Flush()
	tracer := tp.Tracer("t")
	ctx, outer := tracer.Start(base, "outer")
	defer outer.End()
	perfline := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{})})
	defer func() {
		if err := perfline.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	perflineCtx, perflineOuter := perfline.Tracer("t").Start(context.Background(), "outer")
	defer perflineOuter.End()
	for _, c := range []struct {
		name string
		more float64
		f    func()
	}{
		{"a span", 1, func() { _, span := tracer.Start(ctx, "s"); span.End() }},
		{"a span with its context", 2, func() { _, span := labelling.Start(ctx, "s"); span.End() }},
		{"marks.Start with its context", 2, func() { _, m := marks.Start(ctx, "m"); m.End() }},
		{"marks.Start under perfline's span", 1, func() { _, m := marks.Start(perflineCtx, "m"); m.End() }},
	} {
		off := testing.AllocsPerRun(1000, c.f)
		release := spanlabels.Hold(spanlabels.EverySpan)
		on := testing.AllocsPerRun(1000, c.f)
		release()
		if on != off+c.more {
			t.Errorf("%s: %v allocations with a label, %v without, want %v more", c.name, on, off, c.more)
		}
	}
}
