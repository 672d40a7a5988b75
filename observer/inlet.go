package observer

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// chunkLen makes a chunk of about 4 KiB: room for most requests, and small
// enough that ten thousand idle requests that hold one each cost 40 MiB.
const chunkLen = 16

// A chunk is a run of entries. Entries below n are immutable; slots from n on
// are zero.
type chunk struct {
	n       int
	latest  time.Duration // the largest at of its entries
	entries [chunkLen]Entry
}

// An inlet is where entries are written. A request timeline has one; the
// process timeline has several, so that cores do not meet at one lock. The
// collector takes the chunks away and gives them back empty.
type inlet struct {
	tl   *Timeline
	link *inlet // next inlet on the root's dirty list; owned by that list while queued

	mu       sync.Mutex // guards what follows
	chunks   []*chunk
	head     int       // entries of the first chunk that were taken already
	inline   [2]*chunk // first backing of chunks, so that a short request allocates none
	queued   bool      // on the dirty list
	closed   bool      // the timeline was closed: write to its parent instead
	overflow [numKinds]uint64

	_ [64]byte // keeps neighbours' locks off this one's cache line
}

// put records an entry for owner. It reports false when there is no room.
func (t *Timeline) put(owner *Timeline, scope any, k kind, name string, start, duration, at time.Duration, attrs []slog.Attr) bool {
	r := t.root
	in := t.inlet()
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		return t.parent.put(owner, scope, k, name, start, duration, at, attrs)
	}
	var c *chunk
	urgent := false
	if n := len(in.chunks); n > 0 && in.chunks[n-1].n < chunkLen {
		c = in.chunks[n-1]
	} else {
		// The bound is for all inlets together: goroutines may crowd on one.
		used := r.inFlight.Add(1)
		if used > r.maxChunks {
			r.inFlight.Add(-1)
			in.overflow[k]++ // the collector must hear of it
			first := r.enlist(in)
			in.mu.Unlock()
			if first {
				r.arm()
			}
			return false
		}
		urgent = used == r.urgentAt
		c = r.chunks.Get().(*chunk)
		in.chunks = append(in.chunks, c)
	}
	if r.clock != nil {
		at = time.Duration(r.recorded.Add(1)) // times may be equal: count instead
	}
	e := &c.entries[c.n]
	c.n++
	c.latest = max(c.latest, at)
	e.name = name
	e.start = start
	e.duration = duration
	e.at = at
	e.base = owner.origin
	e.tl = owner
	e.scope = scope
	e.kind = k
	if len(attrs) > 0 {
		e.setDetail(attrs)
	}
	first := r.enlist(in)
	in.mu.Unlock()

	if first {
		r.arm()
	}
	if urgent {
		r.wakeNow()
	}
	return true
}

// inlet picks where the calling goroutine writes. The address of a variable on
// its stack tells goroutines apart at a third of the cost of a random number,
// and keeps one goroutine on one inlet most of the time. It is only hashed,
// never turned back into a pointer.
func (t *Timeline) inlet() *inlet {
	if len(t.inlets) == 1 {
		return &t.inlets[0]
	}
	var here byte
	h := uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B97F4A7C15
	return &t.inlets[h>>32&uint64(len(t.inlets)-1)]
}

// take takes the entries recorded up to the moment until, in order, and reports
// whether there are more. What comes later is left for the next pass: it would
// overtake entries that its goroutine wrote to another inlet before, which this
// pass has been to already.
func (r *root) take(in *inlet, until time.Duration, segs []segment, spent []*chunk) (_ []segment, _ []*chunk, lost [numKinds]uint64, more bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	done := 0
	for _, c := range in.chunks {
		to := c.n
		if c.latest > until { // seldom, and the inlet's writers wait: else look at no entry
			to = in.head
		}
		for to < c.n && (c.entries[to].at <= until || r.misdated(&c.entries[to])) {
			to++
		}
		if to > in.head {
			segs = append(segs, c.entries[in.head:to:to])
		}
		if more = to < c.n; more {
			in.head = to
			break
		}
		in.head = 0
		spent = append(spent, c)
		done++
	}
	rest := copy(in.chunks, in.chunks[done:])
	clear(in.chunks[rest:])
	in.chunks = in.chunks[:rest]
	in.queued = false
	lost, in.overflow = in.overflow, [numKinds]uint64{}
	if more {
		r.enlist(in)
	}
	return segs, spent, lost, more
}

// misdated reports whether e is ahead of the clock: its caller gave it a wrong
// time, and it must not hold others up.
func (r *root) misdated(e *Entry) bool { return r.clock == nil && e.at > r.now() }

// enlist puts an inlet on the dirty list unless it is there, and reports whether
// it was not. in.mu is held: whoever writes to the inlet next and then collects
// must find it on the list.
func (r *root) enlist(in *inlet) bool {
	if in.queued {
		return false
	}
	in.queued = true
	for {
		head := r.dirty.Load()
		in.link = head
		if r.dirty.CompareAndSwap(head, in) {
			return true
		}
	}
}

// takeDirty empties the dirty list and returns it, oldest first.
func (r *root) takeDirty() *inlet {
	var oldest *inlet
	for in := r.dirty.Swap(nil); in != nil; {
		next := in.link
		in.link = oldest
		oldest, in = in, next
	}
	return oldest
}

// dirtyList is the head of a lock-free stack: many push, one swaps it for nil,
// so that no element is ever popped alone.
type dirtyList = atomic.Pointer[inlet]
