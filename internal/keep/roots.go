package keep

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
)

// Roots limits the number of open local roots in one instrumentation scope. The sampler dropped
// these roots, and the keep policy decides about each root when the root ends. Some
// instrumentation, such as otelgrpc, never ends a span that is not recording. Without the limit,
// such spans would occupy memory forever.
type Roots struct {
	parts atomic.Pointer[record.PerProcessor[rootCounts]] // nil before the first root
	full  atomic.Bool                                     // Begin refuses further roots
}

func (r *Roots) counts() *rootCounts {
	if r.parts.Load() == nil {
		r.parts.CompareAndSwap(nil, new(record.PerProcessor[rootCounts]))
	}
	return r.parts.Load().Near()
}

type rootCounts struct {
	calls, begins, ends atomic.Int64

	_ [64]byte // padding: counts of two processors share no cache line
}

// maxRoots is the number of open roots from which Begin refuses roots, unless at least half of all
// roots have ended.
const maxRoots = 4096

// Begin counts a new root and returns true. If too many roots of the scope never end, Begin returns
// false and does not count the root.
func (r *Roots) Begin() bool {
	counts := r.counts()
	if counts.calls.Add(1)%32 == 0 {
		var begins, ends int64
		for c := range r.parts.Load().All() {
			begins += c.begins.Load()
			ends += c.ends.Load()
		}
		r.full.Store(begins-ends >= maxRoots && ends < begins/2)
	}
	if r.full.Load() {
		return false
	}
	counts.begins.Add(1)
	return true
}

// End counts the end of a root that Begin counted.
func (r *Roots) End() { r.counts().ends.Add(1) }

// DroppedRoots counts the requests that the policy drops. Each processor appends to a separate
// list. Therefore processors do not contend for a lock or a counter. DroppedRoots counts the roots
// of a list when the list is full or old. CountNow counts the roots of all lists.
type DroppedRoots struct {
	Count func(r *local.Root, counter int) // counts a root in its route and in a counter

	lists record.PerProcessor[droppedList]
}

type droppedList struct {
	mu    sync.Mutex // guards roots
	roots []droppedRoot

	_ [64]byte // padding: lists of two processors share no cache line
}

type droppedRoot struct {
	local.Root
	counter int
}

// Add counts a list that exceeds one of these bounds.
const (
	maxDroppedRoots = 64
	maxDroppedAge   = 100 * time.Millisecond // keeps the usual durations of routes up to date
)

// Add appends a root to a list. The root is counted later, with the other roots of the list.
func (d *DroppedRoots) Add(r local.Root, counter int) {
	l := d.lists.Near()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.roots)
	if n == maxDroppedRoots || n > 0 && r.End.Sub(l.roots[0].End) > maxDroppedAge {
		d.count(l)
	}
	l.roots = append(l.roots, droppedRoot{r, counter})
}

// CountNow counts all roots that were added before the call.
func (d *DroppedRoots) CountNow() {
	for l := range d.lists.All() {
		l.mu.Lock()
		d.count(l)
		l.mu.Unlock()
	}
}

// count counts the roots of a list. l.mu is held.
func (d *DroppedRoots) count(l *droppedList) {
	for i := range l.roots {
		d.Count(&l.roots[i].Root, l.roots[i].counter)
	}
	clear(l.roots)
	l.roots = l.roots[:0]
}
