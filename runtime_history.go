package perfline

import (
	"sync"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/exporter/runtimestats"
)

// Runtime is the history of the Go runtime's figures, with perfline's counts beside them. The first call begins it: from then on it
// takes a sample every 5 s. It ends with Shutdown.
func (p *Pipeline) Runtime() *runtimestats.History { return p.history.start(p.Counts) }

// A runtimeHistory begins with its first use, so that programs that do not look at it do not pay for it.
type runtimeHistory struct {
	mu      sync.Mutex            // guards what follows
	started *runtimestats.History // nil until the first use
	ended   bool                  // with the pipeline
}

func (r *runtimeHistory) start(counts func() []exporter.Count) *runtimestats.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started == nil {
		r.started = runtimestats.Start(runtimestats.Config{Counts: counts})
		if r.ended {
			r.started.Stop()
		}
	}
	return r.started
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
