package keep

import (
	"sync"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
)

// Dropped has the ends of requests that the policy has dropped, which are only counted. Each
// processor has a list, so that processors do not meet at a lock or at a counter. A list is counted
// when it is full or old, and before a reader looks.
type Dropped struct {
	Count func(r *local.Root, place int) // counts a root in its route, and at a place of the counts

	lists record.PerProcessor[droppedList]
}

type droppedList struct {
	mu    sync.Mutex // guards roots
	roots []droppedRoot

	_ [64]byte // keeps the next list off these cache lines
}

type droppedRoot struct {
	local.Root
	place int
}

// Bounds of a list, when the next root comes.
const (
	maxDroppedRoots = 64
	maxDroppedAge   = 100 * time.Millisecond // so that the usual duration of a route follows
)

// Add counts a local root, soon.
func (d *Dropped) Add(r local.Root, place int) {
	l := d.lists.Near()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.roots)
	if n == maxDroppedRoots || n > 0 && r.End.Sub(l.roots[0].End) > maxDroppedAge {
		d.count(l)
	}
	l.roots = append(l.roots, droppedRoot{r, place})
}

// CountNow counts all roots that were added before the call.
func (d *Dropped) CountNow() {
	for l := range d.lists.All() {
		l.mu.Lock()
		d.count(l)
		l.mu.Unlock()
	}
}

// count counts the roots of a list. l.mu is held.
func (d *Dropped) count(l *droppedList) {
	for i := range l.roots {
		d.Count(&l.roots[i].Root, l.roots[i].place)
	}
	clear(l.roots)
	l.roots = l.roots[:0]
}
