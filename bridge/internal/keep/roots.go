package keep

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
)

// Roots count the local roots of an instrumentation scope that wait for a decision. Some
// instrumentation never ends a span that is not recording: otelgrpc is such. Its roots must not
// wait for ever in growing numbers.
type Roots struct {
	// nil before the first root: most scopes have none
	parts atomic.Pointer[record.PerProcessor[rootCounts]]
	full  atomic.Bool // too many never end
}

// near returns the counts of the processor.
func (r *Roots) near() *rootCounts {
	if r.parts.Load() == nil {
		r.parts.CompareAndSwap(nil, new(record.PerProcessor[rootCounts]))
	}
	return r.parts.Load().Near()
}

type rootCounts struct {
	asked, begun, ended atomic.Int64

	_ [64]byte // keeps the next one off these cache lines
}

// maxRoots is about how many may be open while fewer than half of all have ended.
const maxRoots = 4096

// Begin counts a root that begins. It returns false if too many never end.
func (r *Roots) Begin() bool {
	c := r.near()
	if c.asked.Add(1)%32 == 0 {
		r.look()
	}
	if r.full.Load() {
		return false
	}
	c.begun.Add(1)
	return true
}

// look looks whether too many never end.
func (r *Roots) look() {
	var begun, ended int64
	for c := range r.parts.Load().All() {
		begun += c.begun.Load()
		ended += c.ended.Load()
	}
	if full := begun-ended >= maxRoots && ended < begun/2; full != r.full.Load() {
		r.full.Store(full)
	}
}

// End counts a root that ends.
func (r *Roots) End() { r.near().ended.Add(1) }

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
