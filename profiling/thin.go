package profiling

import (
	"math/rand/v2"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// A thinner chooses an engine's samples for a profiler with a longer interval.
//
// It chooses CPU samples at random within each interval of CPU time: every fifth sample would
// favour a thread when several take turns. It chooses all samples of a wall tick, or none.
type thinner struct {
	wall     bool
	interval time.Duration

	// For CPU samples: the CPU time up to now, and the interval and the moment of the next choice.
	passed, stratum, due float64
	// For wall samples: the last tick and the last chosen tick.
	tick, taken int64
	turnOfTick  bool          // tick is chosen
	startedAt   int64         // when the profiler began
	share       time.Duration // the wall time of one goroutine's sample
}

// set changes the interval, which must not be shorter than the engine's.
func (t *thinner) set(interval time.Duration) {
	if interval != t.interval {
		t.interval, t.passed, t.stratum = interval, 0, 0
		t.due = rand.Float64() * float64(interval)
	}
}

// turn reports whether the profiler takes the sample, and sets its count and weight for the
// profiler's interval.
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
		// A tick may come a little early.
		t.turnOfTick = t.taken == 0 || time.Duration(s.At-t.taken) >= t.interval-t.interval/8
		if t.turnOfTick {
			t.share = s.Weight / time.Duration(max(1, s.Count))
			if t.taken != 0 {
				t.share = time.Duration(s.At - t.taken)
			} else {
				t.share = min(t.share, time.Duration(s.At-t.startedAt))
			}
			t.taken = s.At
		}
	}
	s.Weight = t.share * time.Duration(s.Count)
	return t.turnOfTick
}
