package serve

import (
	"slices"
	"sync"
	"time"
)

// A Rate limits how often something happens in any minute. Its methods may be called concurrently.
type Rate struct {
	most int

	mu   sync.Mutex // guards last
	last []time.Time
}

// NewRate returns a rate of most times in a minute.
func NewRate(most int) *Rate { return &Rate{most: max(0, most)} }

// Most returns how often a minute allows it.
func (r *Rate) Most() int { return r.most }

// Take counts one use at a time. If the minute before had the most uses, Take counts none, and
// returns how long to wait.
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

// Undo takes back the use that Take counted at a time.
func (r *Rate) Undo(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.last, at); i >= 0 {
		r.last = slices.Delete(r.last, i, i+1)
	}
}
