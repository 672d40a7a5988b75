package bridge

import (
	"sync"
	"time"

	"github.com/perfline/perfline/internal/local"
)

// A droppedList has the ends of requests that the policy has dropped, which are only counted. Each
// processor has a list, so that processors do not meet at a lock or at a counter. A list is counted
// when it is full or old, and before a reader looks.
type droppedList struct {
	mu    sync.Mutex // guards roots
	roots []droppedRoot

	_ [64]byte // keeps the next list off these cache lines
}

// A droppedRoot is counted in its route, and at a place of the provider's counts.
type droppedRoot struct {
	local.Root
	place int // negative: none
}

// Bounds of a list, when the next root comes.
const (
	maxDroppedRoots = 64
	maxDroppedAge   = 100 * time.Millisecond // so that the usual duration of a route follows
)

// countDropped counts a local root whose request is not kept, soon.
func (p *TracerProvider) countDropped(s *recordedSpan) {
	place := p.placeOf(s)
	if place < 0 && p.routes == nil {
		return
	}
	l := p.dropped.Near()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.roots) == maxDroppedRoots || len(l.roots) > 0 &&
		s.endTime.Sub(l.roots[0].End) > maxDroppedAge {
		p.countList(l)
	}
	l.roots = append(l.roots, droppedRoot{s.asRoot(), place})
}

// countDroppedNow counts all roots that were dropped before the call.
func (p *TracerProvider) countDroppedNow() {
	for l := range p.dropped.All() {
		l.mu.Lock()
		p.countList(l)
		l.mu.Unlock()
	}
}

// countList counts the roots of a list. l.mu is held.
func (p *TracerProvider) countList(l *droppedList) {
	for i := range l.roots {
		r := &l.roots[i]
		if p.routes != nil {
			p.routes.Add(r.Root)
		}
		if r.place >= 0 {
			p.joined.stats[r.place].Add(1)
		}
	}
	l.roots = emptied(l.roots)
}
