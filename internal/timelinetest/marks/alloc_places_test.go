//go:build !race

// The race detector allocates on its own account.

package marks_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Mark, Time and Start take 0, 0 and 1 allocations wherever they record. A tracer that gets entries at once gets their attributes
// in a list that is allocated. Start's one is the span, with its context: without a span there is none.
func TestAllocsOfEveryBranch(t *testing.T) {
	k, v, n := "key", "value", 42
	errBad := errors.New("bad")
	for _, observed := range []string{"", ", observed"} {
		for _, c := range []struct {
			name     string
			under    func(*spantest.System, context.Context) context.Context
			start, d float64 // allocations: of Start; of its attributes
		}{
			{"no tracer", func(s *spantest.System, ctx context.Context) context.Context { s.Detach(); return ctx }, 0, 0},
			{"no span", func(_ *spantest.System, ctx context.Context) context.Context { return ctx }, 1, 1},
			{"a unit's span", func(s *spantest.System, ctx context.Context) context.Context { return s.NewRoot("r").Context(ctx) }, 1, 0},
			{"a unit that has ended", func(s *spantest.System, ctx context.Context) context.Context {
				r := s.NewRoot("r")
				r.End()
				return r.Context(ctx)
			}, 1, 0},
			{"a unit's span that processors see", func(s *spantest.System, ctx context.Context) context.Context {
				r := s.NewRoot("r")
				r.To = record.ToSpan
				return r.Context(ctx)
			}, 1, 1},
			{"a unit's span that is not recorded", func(s *spantest.System, ctx context.Context) context.Context {
				r := s.NewRoot("r")
				r.To = record.ToObservers
				return r.Context(ctx)
			}, 0, 0},
			{"another tracer's span", func(s *spantest.System, ctx context.Context) context.Context {
				return s.Foreign("f", record.ToSpan).Context(ctx)
			}, 1, 1},
			{"another tracer's span that is not recorded", func(s *spantest.System, ctx context.Context) context.Context {
				return s.Foreign("f", record.ToObservers).Context(ctx)
			}, 0, 0},
			{"a remote span", func(s *spantest.System, ctx context.Context) context.Context {
				return s.Foreign("f", record.ToTimeline).Context(ctx)
			}, 1, 1},
		} {
			for _, on := range []string{"process", "request"} {
				tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}}) // no pass, which allocates, runs meanwhile
				if observed != "" {
					if _, err := tl.Observe(func(observer.List) {}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}}); err != nil {
						t.Fatal(err)
					}
				}
				tracing := spantest.New((*record.Timeline)(tl))
				tracing.Discard, tracing.Limit = true, 128
				ctx := observer.NewContext(context.Background(), tl)
				if on == "request" {
					ctx = observer.NewContext(ctx, tl.NewChild())
				}
				ctx = c.under(tracing, ctx)
				check := func(what string, want float64, f func()) {
					t.Helper()
					if got := testing.AllocsPerRun(2000, f); got != want {
						t.Errorf("%s on the %s%s: %s: %v allocations, want %v", c.name, on, observed, what, got, want)
					}
				}
				check("Mark", 0, func() { marks.Mark(ctx, "m") })
				check("Mark with 4 attributes", 0, func() {
					marks.Mark(ctx, "m", slog.String(k, v), slog.Int("n", n), slog.Bool("b", true), slog.Float64("f", 1.5))
				})
				check("Time and End", 0, func() { marks.Time(ctx, "m").End() })
				check("deferred End", 0, func() { defer marks.Time(ctx, "m").End() })
				check("Time and End with 4 attributes", 0, func() {
					marks.Time(ctx, "m", slog.String(k, v), slog.Int("n", n)).End(slog.Bool("b", true), slog.Float64("f", 1.5))
				})
				check("Start and End", c.start, func() { _, tm := marks.Start(ctx, "m"); tm.End() })
				check("Start and End with 4 attributes", c.start+c.d, func() {
					_, tm := marks.Start(ctx, "m", slog.String(k, v), slog.Int("n", n))
					tm.End(slog.Bool("b", true), slog.Float64("f", 1.5))
				})
				check("Start that never ends", c.start, func() { marks.Start(ctx, "m") })
				marks.Time(ctx, "m").Fail(errBad) // may allocate
			}
		}
	}
}
