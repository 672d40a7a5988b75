package observertest

import (
	"sync"
	"time"
)

// A Clock is a clock of a timeline. The time changes only when a test calls Advance. Set
// TimelineOptions.Clock to the method Now. A zero Clock starts at the timeline's origin. A Clock is
// safe for concurrent use.
type Clock struct {
	mu  sync.Mutex // guards now
	now time.Duration
}

// Now returns the time of the clock, as a duration since the timeline's origin.
func (c *Clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance adds d to the time of the clock. Advance panics if d is negative.
func (c *Clock) Advance(d time.Duration) {
	if d < 0 {
		panic("observertest: Clock.Advance(" + d.String() +
			"): a timeline's clock does not go backwards")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += d
}
