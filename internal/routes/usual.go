package routes

import (
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/text"
)

const (
	usualShare = 0.95 // of the requests are not slower than usual
	minUsual   = 128  // requests of a route, below which nothing is usual
	usualSteps = 64   // requests between two updates
)

// Usual returns how long requests of a route usually take at most: the 95th percentile of the last
// minutes, or of the time since the start if the last minutes count fewer than 128 requests. Usual
// returns 0 while the route counts fewer in all. The result is up to 64 requests old, and exact to
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

// updateUsual counts a request, and computes usual at each usualSteps-th one. r.mu is held.
func (r *route) updateUsual() {
	if r.count++; r.count < minUsual || r.count%usualSteps != 0 {
		return
	}
	all := r.sum(LastMinutes)
	if all.total() < minUsual {
		all = r.sum(SinceStart)
	}
	r.usual.Store(int64(all.quantile(usualShare)))
}
