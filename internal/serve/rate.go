package serve

import (
	"slices"
	"sync"
	"time"
)

// A Rate limits the number of uses in any minute. All methods may be called concurrently.
type Rate struct {
	most int

	mu   sync.Mutex // guards last
	last []time.Time
}

// NewRate returns a Rate with a limit for the uses in any minute. The parameter most is the limit.
// A negative limit counts as 0.
func NewRate(most int) *Rate { return &Rate{most: max(0, most)} }

// Most returns the largest number of uses that the Rate allows in any minute.
func (r *Rate) Most() int { return r.most }

// Take counts a use at the time now, and returns 0. If the limit is reached, Take counts nothing,
// and returns the time to wait until the next allowed use.
func (r *Rate) Take(now time.Time) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = slices.DeleteFunc(r.last,
		func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	switch {
	case len(r.last) < r.most:
		r.last = append(r.last, now)
		return 0
	case r.most == 0:
		return time.Minute
	default:
		return time.Minute - now.Sub(r.last[0])
	}
}

// Undo removes one use that Take counted. The parameter at is the time of the use.
func (r *Rate) Undo(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.last, at); i >= 0 {
		r.last = slices.Delete(r.last, i, i+1)
	}
}
