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

// Usual returns the usual maximum duration of a route's requests: the 95th percentile of the last
// minutes. If the last minutes contain fewer than 128 requests, Usual returns the percentile since
// the start. If the route counts fewer than 128 requests, Usual returns 0.
//
// The result may ignore the newest 64 requests. The error of the result is at most a quarter. Usual
// uses no lock, and does not wait for concurrent calls of Add.
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
