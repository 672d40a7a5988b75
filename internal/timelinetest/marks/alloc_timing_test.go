//go:build !race

// The race detector allocates on its own account.

package marks_test

import (
	"context"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// The common forms that TestAllocs has not: two attributes, in all the places
// where they can be given.
func TestAllocsOfTimings(t *testing.T) {
	k, v, n := "key", "value", 42
	timed := marks.Timerify("t", func(_ context.Context, n int) (int, error) { return n, nil }, marks.TimerifyOptions{
		Attrs:     []slog.Attr{slog.String(k, v), slog.Int("n", n)},
		Histogram: func(context.Context, time.Duration) {},
	})
	for name, ctx := range contexts() {
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"a function timed by Timerify", func() { _, _ = timed(ctx, n) }},
			{"2 attributes at Time", func() { marks.Time(ctx, "t", slog.String(k, v), slog.Int("n", n)).End() }},
			{"2 attributes at End", func() { marks.Time(ctx, "t").End(slog.String(k, v), slog.Int("n", n)) }},
			{"2 attributes, deferred", func() { defer marks.Time(ctx, "t", slog.String(k, v), slog.Int("n", n)).End() }},
			{"ended in a deferred function", func() {
				tm := marks.Time(ctx, "t", slog.String(k, v))
				defer func() { tm.End(slog.Int("n", n)) }()
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

// AllocsPerRun rounds down: a function that allocates in every second call passes. Here
// nothing is rounded. The timeline's passes would count, too, as they run on a goroutine
// of their own. So the test makes the passes between the measured calls, and entries
// always find a used chunk: the garbage collector, which takes chunks from the pool, stands still.
func TestAllocsAreNotRoundedAway(t *testing.T) {
	const runs = 2000
	process := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, BufferSize: -1, ChildBufferSize: -1})
	for name, tl := range map[string]*observer.Timeline{"process": process, "request": process.NewChild()} {
		ctx := observer.NewContext(context.Background(), tl)
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"Mark", func() { marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1)) }},
			{"Time and End", func() { marks.Time(ctx, "t", slog.String("k", "v")).End(slog.Int("n", 1)) }},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // few other goroutines allocate meanwhile
				defer debug.SetGCPercent(debug.SetGCPercent(-1))
				burst := func() {
					for range runs {
						c.f()
					}
				}
				burst()                         // as many chunks as will be needed
				least := uint64(math.MaxUint64) // of some bursts: what other goroutines allocate does not come with each
				for range 5 {
					(*record.Timeline)(process).Flush()
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					burst()
					runtime.ReadMemStats(&after)
					least = min(least, after.Mallocs-before.Mallocs)
				}
				(*record.Timeline)(process).Flush()
				if least > runs/100 {
					t.Errorf("%d allocations in %d calls, want next to none", least, runs)
				}
			})
		}
	}
}
