//go:build !race

// The race detector allocates on its own account.

package marks_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

type depthKey int

// contexts are a bare one, and a request's that is five values deep.
func contexts() map[string]context.Context {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	process := observer.NewContext(context.Background(), tl)
	request := observer.NewContext(process, tl.NewChild())
	for i := range 5 {
		request = context.WithValue(request, depthKey(i), i)
	}
	return map[string]context.Context{"default": context.Background(), "process": process, "request": request}
}

// The budgets of recording. The collector allocates now and then while these
// run, far less than once in a run, which is what AllocsPerRun rounds to.
func TestAllocs(t *testing.T) {
	k, v, n := "key", "value", 42
	for name, ctx := range contexts() {
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"Mark, 0 attributes", func() { marks.Mark(ctx, "m") }},
			{"Mark, 2 attributes", func() { marks.Mark(ctx, "m", slog.String(k, v), slog.Int("n", n)) }},
			{"Mark, 4 attributes", func() {
				marks.Mark(ctx, "m", slog.String(k, v), slog.Int("n", n), slog.Bool("b", true), slog.Float64("f", 1.5))
			}},
			{"Time and End", func() { marks.Time(ctx, "t").End() }},
			{"deferred End", func() { defer marks.Time(ctx, "t").End() }},
			{"Time and End, 4 attributes", func() {
				t := marks.Time(ctx, "t", slog.String(k, v), slog.Int("n", n))
				t.End(slog.Bool("b", true), slog.Float64("f", 1.5))
			}},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				if got := testing.AllocsPerRun(20_000, c.f); got != 0 {
					t.Errorf("%v allocations, want 0", got)
				}
			})
		}
	}
}
