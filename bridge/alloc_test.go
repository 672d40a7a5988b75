//go:build !race

// The race detector allocates on its own account.

package bridge_test

import (
	"context"
	"log/slog"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// What the request's path pays under a sampled span. AllocsPerRun counts what
// other goroutines allocate meanwhile too, so the collector is held off.
func TestAllocs(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1 << 18})
	proc := bridge.NewProcessor(&recorder{}, bridge.WithTimeline(tl))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	defer func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for range 1 << 15 { // fill the pool of chunks
		marks.Mark(observer.NewContext(context.Background(), tl), "warm")
	}
	tl.Flush()
	ctx, span := tp.Tracer("t").Start(observer.NewContext(context.Background(), tl), "span")
	defer span.End()
	for _, c := range []struct {
		name string
		want float64
		f    func()
	}{
		{"Mark, 0 attributes", 0, func() { marks.Mark(ctx, "m") }},
		{"Mark, 2 attributes", 0, func() { marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1)) }},
		{"Mark, 4 attributes", 0, func() {
			marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1), slog.Bool("b", true), slog.Float64("f", 1))
		}},
		{"Time and End", 0, func() { marks.Time(ctx, "t").End() }},
		{"Start and End: context and span in one", 1, func() { _, t := marks.Start(ctx, "s"); t.End() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := testing.AllocsPerRun(4000, c.f); got != c.want {
				t.Errorf("%v allocations, want %v", got, c.want)
			}
		})
	}
}
