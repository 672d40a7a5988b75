//go:build !race

// The race detector allocates on its own account.

package bridge_test

import (
	"context"
	"log/slog"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// The budgets of recording under spans of perfline's provider: nothing for marks and for measures, and the span with its context for
// marks.Start.
func TestAllocs(t *testing.T) {
	// No sweep and no pass runs meanwhile. The view of a unit has no room: it is filled when a part is handed over.
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1 << 18, ChildBufferSize: -1})
	sampled := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Exporters: []bridge.Output{&arrivals{countOnly: true}}})
	unsampled := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: sdktrace.NeverSample()})
	base := observer.NewContext(t.Context(), tl)
	open := func(tp *bridge.TracerProvider) context.Context {
		ctx, _ := tp.Tracer("t").Start(base, "root")
		marks.Mark(ctx, "the first, for which the unit is made")
		return ctx
	}
	sampledBy := func(s sdktrace.Sampler) context.Context {
		return open(bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: s, Exporters: []bridge.Output{&arrivals{countOnly: true}}}))
	}
	ended, span := sampled.Tracer("t").Start(base, "ended")
	marks.Mark(ended, "mark")
	span.End()
	inside, measure := marks.Start(open(sampled), "open")
	defer measure.End()
	remote := trace.ContextWithRemoteSpanContext(base, remoteSpan(0))
	for where, c := range map[string]struct {
		ctx   context.Context
		start float64
	}{
		"under a root":                {open(sampled), 1},
		"under a child":               {child(sampled, open(sampled)), 1},
		"under a measure":             {inside, 1},
		"deep in a context":           {deep(open(sampled)), 1},
		"with always_on":              {sampledBy(sdktrace.AlwaysSample()), 1},
		"with traceidratio":           {sampledBy(sdktrace.TraceIDRatioBased(1)), 1},
		"under a span that ended":     {ended, 1}, // handed over alone
		"under an unsampled span":     {open(unsampled), 0},
		"under a remote unsampled":    {remote, 0},
		"a timeline without a tracer": {observer.NewContext(t.Context(), warm()), 0},
	} {
		for _, call := range []struct {
			name string
			want float64
			f    func(context.Context)
		}{
			{"Mark, 0 attributes", 0, func(ctx context.Context) { marks.Mark(ctx, "m") }},
			{"Mark, 2 attributes", 0, func(ctx context.Context) { marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1)) }},
			{"Mark, 4 attributes", 0, func(ctx context.Context) {
				marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1), slog.Bool("b", true), slog.Float64("f", 1))
			}},
			{"Time and End", 0, func(ctx context.Context) { marks.Time(ctx, "t").End() }},
			{"Time and End, 4 attributes", 0, func(ctx context.Context) {
				marks.Time(ctx, "t", slog.String("k", "v"), slog.Int("n", 1)).End(slog.Bool("b", true), slog.Float64("f", 1))
			}},
			{"Start and End", c.start, func(ctx context.Context) { _, t := marks.Start(ctx, "s"); t.End() }},
			{"Start and End, 2 attributes", c.start, func(ctx context.Context) {
				_, t := marks.Start(ctx, "s", slog.String("k", "v"))
				t.End(slog.Int("n", 1))
			}},
		} {
			t.Run(where+"/"+call.name, func(t *testing.T) {
				if got := testing.AllocsPerRun(4000, func() { call.f(c.ctx) }); got != call.want {
					t.Errorf("%v allocations, want %v", got, call.want)
				}
			})
		}
	}
}

func child(tp *bridge.TracerProvider, ctx context.Context) context.Context {
	ctx, _ = tp.Tracer("t").Start(ctx, "child")
	return ctx
}

type depthKey int

func deep(ctx context.Context) context.Context {
	for i := range 5 {
		ctx = context.WithValue(ctx, depthKey(i), i)
	}
	return ctx
}

// warm returns a timeline whose pool has chunks enough.
func warm() *observer.Timeline {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1 << 18, BufferSize: -1})
	for range 1 << 16 {
		marks.Mark(observer.NewContext(context.Background(), tl), "warm")
	}
	(*record.Timeline)(tl).Flush()
	return tl
}
