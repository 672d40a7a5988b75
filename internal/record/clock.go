package record

import "time"

// MaxTime is how far from the origin of its process timeline an entry may start and end: 146 years.
// Sums and differences of two such times do not overflow, and Unix times in nanoseconds can express
// them.
const MaxTime = time.Duration(1<<62 - 1)

// clamp returns d, or the nearest time within MaxTime.
func clamp(d time.Duration) time.Duration { return max(-MaxTime, min(d, MaxTime)) }

// interval returns start, given since origin, as a time since the root's origin, and duration. A
// start or an end out of range becomes the nearest in range.
func interval(origin, start, duration time.Duration) (time.Duration, time.Duration) {
	const quarter = (MaxTime + 1) / 4
	// as nearly always
	if uint64(start+quarter)|uint64(duration+quarter)|uint64(origin+quarter) < uint64(2*quarter) {
		return start + origin, duration
	}
	start = max(-MaxTime-origin, min(start, MaxTime-origin)) + origin
	return start, max(-MaxTime-start, min(duration, MaxTime-start))
}

// maxWallStep is how far the wall clock may drift from the process timeline's before entries follow
// it. Slewing stays far below. A step by an operator, or of a virtual machine that was suspended,
// does not.
const maxWallStep = time.Millisecond

// now is the time since the root's origin.
func (r *root) now() time.Duration {
	if r.clock != nil {
		return r.clock()
	}
	return time.Since(r.epoch) // cheaper than time.Now: it reads the monotonic clock only
}

// readClock returns a function that reads a clock of the program. If that panics, the time is the
// one that was read last.
func (r *root) readClock(clock func() time.Duration) func() time.Duration {
	return func() time.Duration {
		r.try("the Clock of a timeline", func() { r.clockRead.Store(int64(clock())) })
		return time.Duration(r.clockRead.Load())
	}
}

// wall is the wall-clock time of a moment given since the root's origin.
func (r *root) wall(d time.Duration) time.Time {
	if t := r.anchor.Load(); t != nil {
		return t.Add(d)
	}
	return r.epoch.Add(d)
}

// followWall moves the anchor when the wall clock was stepped since the last call. Requests'
// timelines keep theirs: they are short, and their entries must agree with each other.
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
