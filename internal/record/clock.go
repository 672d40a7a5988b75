package record

import "time"

// MaxTime is the greatest distance of an entry's start and end from the origin of its process
// timeline: 146 years. Sums and differences of two such times do not overflow, and fit into Unix
// times in nanoseconds.
const MaxTime = time.Duration(1<<62 - 1)

// clamp returns the time within MaxTime that is nearest to d.
func clamp(d time.Duration) time.Duration { return max(-MaxTime, min(d, MaxTime)) }

// interval converts start from a time since origin to a time since the root's origin. A start or an
// end out of range becomes the nearest in range.
func interval(origin, start, duration time.Duration) (time.Duration, time.Duration) {
	const quarter = (MaxTime + 1) / 4
	// the usual case
	if uint64(start+quarter)|uint64(duration+quarter)|uint64(origin+quarter) < uint64(2*quarter) {
		return start + origin, duration
	}
	start = max(-MaxTime-origin, min(start, MaxTime-origin)) + origin
	return start, max(-MaxTime-start, min(duration, MaxTime-start))
}

// maxWallStep is the drift of the wall clock from the process timeline at which entries follow the
// wall clock. Slewing stays far below maxWallStep. A step by an operator, or of a suspended virtual
// machine, exceeds it.
const maxWallStep = time.Millisecond

// now returns the time since the root's origin.
func (r *root) now() time.Duration {
	if r.clock != nil {
		return r.clock()
	}
	return time.Since(r.epoch) // cheaper than time.Now: reads the monotonic clock only
}

// readClock returns a reader of a program's clock. After a panic, the reader repeats the last time.
func (r *root) readClock(clock func() time.Duration) func() time.Duration {
	return func() time.Duration {
		r.try("the Clock of a timeline", func() { r.clockRead.Store(int64(clock())) })
		return time.Duration(r.clockRead.Load())
	}
}

// wall converts a time since the root's origin to the wall clock.
func (r *root) wall(d time.Duration) time.Time {
	if t := r.anchor.Load(); t != nil {
		return t.Add(d)
	}
	return r.epoch.Add(d)
}

// followWall moves the anchor after a step of the wall clock. Requests' timelines keep their
// anchors: requests are short, and the entries of a request must agree with each other.
func (r *root) followWall() {
	if r.clock != nil {
		return
	}
	now := time.Now()
	since := now.Sub(r.epoch) // monotonic
	step := now.Round(0).Sub(r.wall(since).Round(0))
	if step > maxWallStep || step < -maxWallStep {
		// Round(0) above removed the monotonic reading from a copy: t keeps the reading.
		t := now.Add(-since)
		r.anchor.Store(&t)
	}
}

// Milliseconds returns d as a number of milliseconds, the unit of a DOMHighResTimeStamp.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
