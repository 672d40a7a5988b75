package profiling

import (
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// Of an engine's samples a profiler gets as many as its own interval says, whatever
// the ratio.
func TestThinnerTakesItsShare_JSP3_JSP20(t *testing.T) {
	const total = 20_000
	for _, tt := range []struct {
		name             string
		engine, profiler time.Duration
	}{
		{"the same", 10 * time.Millisecond, 10 * time.Millisecond},
		{"five times", 10 * time.Millisecond, 50 * time.Millisecond},
		{"two and a half times", 4 * time.Millisecond, 10 * time.Millisecond},
		{"a little longer", time.Second / 143, 7 * time.Millisecond},
		{"an interval that is no whole number of nanoseconds", time.Second / 3, time.Second / 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var th thinner
			th.set(tt.profiler)
			n, weight := 0, time.Duration(0)
			for range total {
				s := sampling.Sample{Count: 1, Weight: tt.engine}
				if th.turn(&s) {
					n += s.Count
					weight += s.Weight
				}
			}
			want := float64(total) * float64(tt.engine) / float64(tt.profiler)
			if d := float64(n) - want; d < -1 || d > 1 {
				t.Errorf("took %d samples of %d, want %.1f", n, total, want)
			}
			if d := weight - total*tt.engine; d < -tt.profiler || d > tt.profiler {
				t.Errorf("they stand for %v, want %v", weight, total*tt.engine)
			}
		})
	}
}

// Threads that take turns in the log are all seen, in their shares: every second
// sample would be of one of them only.
func TestThinnerIsFair(t *testing.T) {
	var th thinner
	th.set(20 * time.Millisecond)
	var of [2]int
	const total = 20_000
	for i := range total {
		if th.turn(&sampling.Sample{Count: 1, Weight: 10 * time.Millisecond}) {
			of[i%2]++
		}
	}
	for i, n := range of {
		if n < total/4*9/10 || n > total/4*11/10 {
			t.Errorf("thread %d has %d of %d samples, want about half", i, n, of[0]+of[1])
		}
	}
}

// A sample of several counts for several.
func TestThinnerThinsCounts(t *testing.T) {
	var th thinner
	th.set(50 * time.Millisecond)
	s := sampling.Sample{Count: 100, Weight: time.Second}
	if !th.turn(&s) || s.Count < 19 || s.Count > 20 || s.Weight != time.Duration(s.Count)*50*time.Millisecond {
		t.Errorf("100 samples of 10 ms became %d for %v, want 20 for 1s", s.Count, s.Weight)
	}
}

// All samples of a tick are taken or none, and what is taken stands for the time
// since the tick taken before.
func TestThinnerOfWallTicks(t *testing.T) {
	th := thinner{wall: true}
	th.set(30 * time.Millisecond)
	weight := map[int]time.Duration{}
	for tick := range 301 {
		for goroutines := 1; goroutines <= 2; goroutines++ {
			s := sampling.Sample{At: int64(time.Second) + int64(tick)*int64(10*time.Millisecond), Count: goroutines,
				Weight: time.Duration(goroutines) * 10 * time.Millisecond}
			if th.turn(&s) != (tick%3 == 0) {
				t.Fatalf("tick %d taken: %v", tick, tick%3 != 0)
			} else if tick%3 == 0 {
				weight[goroutines] += s.Weight
			}
		}
	}
	// The first tick stands for the engine's own interval.
	late := thinner{wall: true, startedAt: int64(time.Second)}
	late.set(30 * time.Millisecond)
	s := sampling.Sample{At: int64(time.Second) + int64(time.Millisecond), Count: 2, Weight: 2 * time.Minute}
	if !late.turn(&s) || s.Weight != 2*time.Millisecond {
		t.Errorf("a first tick a millisecond after the profiler began weighs %v for 2 goroutines, want 2ms", s.Weight)
	}
	for n, got := range weight {
		if want := time.Duration(n) * 3010 * time.Millisecond; got != want {
			t.Errorf("the samples of %d goroutines stand for %v, want %v", n, got, want)
		}
	}
}
