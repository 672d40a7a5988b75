package routes

import (
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/text"
)

const (
	usualShare = 0.95 // of the requests are not slower than is usual
	minUsual   = 128  // requests of a route before anything is usual
	usualSteps = 64   // requests between two looks
)

// Usual returns how long requests of a route usually take at most: the 95th percentile of the last
// minutes, or of the time since the start if the last minutes have fewer than 128 requests. Usual
// returns 0 while there are fewer in all. The result is of the last 64 requests or so, and exact to
// a quarter. Usual takes no lock, and does not wait for requests that are about to be added.
func (t *Table) Usual(class local.Class, name string) time.Duration {
	c := &t.classes[min(class, local.Housekeeping)]
	r := c.find(text.Start(name, maxName))
	if r == nil {
		if r = c.find(NameOf(name)); r == nil {
			r = &c.others
		}
	}
	return time.Duration(r.usual.Load())
}

// look brings usual up to date from time to time. r.mu is held.
func (r *route) look() {
	if r.seen++; r.seen < minUsual || r.seen%usualSteps != 0 {
		return
	}
	all := r.open
	for _, p := range r.minutes {
		p.addTo(&all)
	}
	if all.total() < minUsual {
		all = r.open
		for _, p := range r.start {
			p.addTo(&all)
		}
	}
	r.usual.Store(int64(all.quantile(usualShare)))
}
