//go:build !race

// The race detector allocates on its own account.

package bridge_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A measure of a series that is known, or over the bound, allocates nothing for the histogram. Under a sampled span of the SDK, it
// allocates the context that leads to the span.
func TestMeasureAllocs(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1 << 18, ChildBufferSize: -1})
	own := func(s sdktrace.Sampler) context.Context {
		tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: s, Exporters: []bridge.Output{&arrivals{countOnly: true}}})
		ctx, _ := tp.Tracer("t").Start(observer.NewContext(t.Context(), tl), "root")
		marks.Mark(ctx, "the first, for which the unit is made")
		return ctx
	}
	sdk := func(s sdktrace.Sampler) context.Context {
		ctx, _ := sdktrace.NewTracerProvider(sdktrace.WithSampler(s)).Tracer("t").Start(observer.NewContext(t.Context(), tl), "root")
		return ctx
	}
	bare := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
	long := strings.Repeat("x", 1000)
	for where, c := range map[string]struct {
		tl   *observer.Timeline
		ctx  context.Context
		want float64
	}{
		"under no span":           {bare, observer.NewContext(t.Context(), bare), 0},
		"sampled":                 {tl, own(always), 0},
		"not sampled":             {tl, own(never), 0},
		"sampled by the SDK":      {tl, sdk(always), 1},
		"not sampled by the SDK":  {tl, sdk(never), 0},
		"a remote span, dropped":  {tl, trace.ContextWithRemoteSpanContext(observer.NewContext(t.Context(), tl), remoteSpan(0)), 0},
		"a span within a measure": {tl, func() context.Context { ctx, _ := marks.Start(own(always), "open"); return ctx }(), 0},
	} {
		for name, f := range map[string]func(){
			"no attributes": func() { marks.Time(c.ctx, "a").End() },
			"4 attributes": func() {
				marks.Time(c.ctx, "a", slog.String("k", "v"), slog.Int("n", 1)).End(slog.Bool("b", true), slog.Float64("f", 1))
			},
			"long text":     func() { marks.Time(c.ctx, "a", slog.String("k", long)).End() },
			"Start and End": func() { _, tm := marks.Start(c.ctx, "a", slog.String("k", "v")); tm.End() },
			"over the bound": func() {
				marks.Time(c.ctx, "b").End()
			},
		} {
			t.Run(where+"/"+name, func(t *testing.T) {
				alone := testing.AllocsPerRun(1000, f)
				d := newDurations(t, bridge.MeasureConfig{Names: []string{"a", "b"}, Attributes: []string{"k", "n", "b", "f"}, MaxSeries: 2, Timeline: c.tl})
				if name == "over the bound" {
					marks.Time(c.ctx, "a").End() // fills it
				}
				if got := testing.AllocsPerRun(1000, f); got != alone+c.want {
					t.Errorf("%v allocations, want %v", got, alone+c.want)
				}
				if n := d.Stats().Overflow; (n > 0) != (name == "over the bound") {
					t.Errorf("%d measures over the bound", n)
				}
			})
		}
	}
}
