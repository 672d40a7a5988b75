package perfline

import (
	"sync"

	"github.com/perfline/perfline/internal/runtimestats"
)

// Runtime is the history of the Go runtime's figures, with perfline's counts beside them. The first
// call begins it: from then on it takes a sample every 5 s. It ends with Shutdown.
func (p *Pipeline) Runtime() *Runtime {
	r := &p.history
	r.mu.Lock()
	late := r.started == nil && r.ended
	if r.started == nil {
		r.started = runtimestats.Start(runtimestats.Config{Counts: p.Counts})
	}
	h := r.started.(*runtimestats.History) //nolint:forcetypeassert // nothing else is ever there
	r.mu.Unlock()
	if late {
		h.Stop()
	}
	return (*Runtime)(h)
}

// A runtimeHistory begins with its first use. It has the history by an interface, so that a program
// without a page does not link package runtimestats.
type runtimeHistory struct {
	mu      sync.Mutex          // guards what follows
	started interface{ Stop() } // a *runtimestats.History; nil until the first use
	ended   bool                // with the pipeline
}

// stop ends the history, also one that begins later.
func (r *runtimeHistory) stop() {
	r.mu.Lock()
	r.ended = true
	started := r.started
	r.mu.Unlock()
	if started != nil {
		started.Stop()
	}
}
