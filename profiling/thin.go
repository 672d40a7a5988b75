package profiling

import (
	"math/rand/v2"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// A thinner chooses the samples of an engine for a profiler whose interval is longer than the
// engine's.
//
// It chooses CPU samples at random within each interval of CPU time: every fifth sample would
// favour a thread when several take turns. It takes or leaves the samples of a wall tick together.
type thinner struct {
	wall     bool
	interval time.Duration

	// CPU: time that passed, the interval it is in, and when in it a sample is due.
	passed, stratum, due float64
	// Wall: the tick looked at last, whether it was taken, and the one taken before.
	tick, taken int64
	turnOfTick  bool
	begun       int64         // when the profiler began
	share       time.Duration // the wall time that one goroutine's sample stands for
}

// set changes the interval. The engine's interval is not longer.
func (t *thinner) set(interval time.Duration) {
	if interval != t.interval {
		t.interval, t.passed, t.stratum = interval, 0, 0
		t.due = rand.Float64() * float64(interval)
	}
}

// turn reports whether the profiler takes the sample, and changes its count and its weight to what
// it then stands for.
func (t *thinner) turn(s *sampling.Sample) bool {
	if t.wall {
		return t.wallTurn(s)
	}
	t.passed += float64(s.Weight)
	n := 0
	// The tolerance is for intervals that are no whole number of nanoseconds.
	for t.passed+float64(s.Count) > t.due {
		n++
		t.stratum += float64(t.interval)
		t.due = t.stratum + rand.Float64()*float64(t.interval)
	}
	s.Count, s.Weight = n, time.Duration(n)*t.interval
	return n > 0
}

func (t *thinner) wallTurn(s *sampling.Sample) bool {
	if s.At != t.tick {
		t.tick = s.At
		// A tick that comes a little early is still the one meant.
		t.turnOfTick = t.taken == 0 || time.Duration(s.At-t.taken) >= t.interval-t.interval/8
		if t.turnOfTick {
			t.share = s.Weight / time.Duration(max(1, s.Count))
			if t.taken != 0 {
				t.share = time.Duration(s.At - t.taken)
			} else {
				t.share = min(t.share, time.Duration(s.At-t.begun))
			}
			t.taken = s.At
		}
	}
	s.Weight = t.share * time.Duration(s.Count)
	return t.turnOfTick
}
