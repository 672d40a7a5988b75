package observer

import (
	"fmt"
	"math"
	"time"
)

// Milliseconds is d as a DOMHighResTimeStamp: milliseconds as a float64.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// FromMilliseconds turns a DOMHighResTimeStamp into a duration, rounded to the
// nanosecond. NaN, infinities and values outside ±292 years are errors (Web
// IDL's double is finite).
func FromMilliseconds(ms float64) (time.Duration, error) {
	ns := math.Round(ms * float64(time.Millisecond))
	if math.IsNaN(ns) || ns >= math.MaxInt64 || ns <= math.MinInt64 {
		return 0, fmt.Errorf("observer: timestamp %v ms: must be a finite number of milliseconds within ±292 years", ms)
	}
	return time.Duration(ns), nil
}

// maxWallStep is how far the wall clock may drift from the process timeline's
// before its entries follow it. Slewing stays far below; a step by an operator
// or a virtual machine that was suspended does not.
const maxWallStep = time.Millisecond

// now is the time since the root's origin.
func (r *root) now() time.Duration {
	if r.clock != nil {
		return r.clock()
	}
	return time.Since(r.epoch) // cheaper than time.Now: it reads the monotonic clock only
}

// wall is the wall-clock time of a moment given since the root's origin.
func (r *root) wall(d time.Duration) time.Time {
	if t := r.anchor.Load(); t != nil {
		return t.Add(d)
	}
	return r.epoch.Add(d)
}

// followWall moves the anchor when the wall clock was stepped since the last
// look. Request timelines are not touched: they are short, and their entries
// must agree with each other.
func (r *root) followWall() {
	if r.clock != nil {
		return
	}
	now := time.Now()
	since := now.Sub(r.epoch) // monotonic
	step := now.Round(0).Sub(r.wall(since).Round(0))
	if step > maxWallStep || step < -maxWallStep {
		// Add keeps the monotonic reading, which Round(0) above had removed.
		t := now.Add(-since)
		r.anchor.Store(&t)
	}
}
