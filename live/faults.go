package live

import (
	"sync"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
)

// A faultsCache shares the faults of the set-up between the streams of all pages.
type faultsCache struct {
	mu     sync.Mutex // guards the fields below
	at     time.Time
	faults []string
}

// maxFaultsAge bounds the age of a faultsCache: a check may take some tens of milliseconds.
const maxFaultsAge = 10 * time.Second

// faults returns a sentence for each fault of the set-up. In a summary, the sentence has only what
// to change, because the fault may have names of spans.
func (h *handler) faults() []string {
	c := &h.faultsCache
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.at.IsZero() || now.Sub(c.at) >= maxFaultsAge {
		c.at, c.faults = now, nil
		for _, f := range perfline.Check(h.source) {
			fault := f.Change
			if h.data != guard.Summary {
				fault = f.What + " " + f.Change
			}
			c.faults = append(c.faults, fault)
		}
	}
	return c.faults
}
