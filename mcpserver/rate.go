package mcpserver

import (
	"sync"
	"time"
)

// maxStarts is how many recordings clients may start in a minute.
const maxStarts = 10

// A rate limits what happens in a minute.
type rate struct {
	mu   sync.Mutex // guards last
	last []time.Time
}

// take counts once more at a time. It returns how long to wait if maxStarts are reached.
func (r *rate) take(now time.Time) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.last) > 0 && now.Sub(r.last[0]) >= time.Minute {
		r.last = r.last[1:]
	}
	if len(r.last) == maxStarts {
		return time.Minute - now.Sub(r.last[0])
	}
	r.last = append(r.last, now)
	return 0
}
