package perfline

import (
	"sync"

	"github.com/perfline/perfline/internal/runtimestats"
)

// Runtime returns the history of the Go runtime's metrics and of perfline's counts. The first call
// starts the history. The history records a sample every 5 s until Shutdown.
func (p *Pipeline) Runtime() *Runtime {
	r := &p.history
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.history == nil {
		h := runtimestats.Start(runtimestats.Config{Counts: p.Counts})
		if r.stopped {
			h.Stop()
		}
		r.history = h
	}
	h := r.history.(*runtimestats.History) //nolint:forcetypeassert // set above
	return (*Runtime)(h)
}

// A runtimeHistory begins with its first use. The interface saves a program without a page from
// linking package runtimestats.
type runtimeHistory struct {
	mu      sync.Mutex          // guards the following fields
	history interface{ Stop() } // a *runtimestats.History; nil until the first use
	stopped bool
}

// stop ends the history, even one that begins later.
func (r *runtimeHistory) stop() {
	r.mu.Lock()
	r.stopped = true
	h := r.history
	r.mu.Unlock()
	if h != nil {
		h.Stop()
	}
}
