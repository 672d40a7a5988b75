package observer

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// An inlet is where entries of a process timeline are written, and entries of its units that observers want. There are
// several, so that cores do not meet at one lock. The collector takes the chunks away and gives them back empty.
type inlet struct {
	mu     sync.Mutex // guards what follows
	open   *chunk     // the last chunk; nil when there is none
	queued bool       // on the dirty list
	head   uint8      // records of the first chunk that were taken already

	chunks   []*chunk
	overflow [numKinds]uint32 // entries of the process timeline that found no room
	unshown  [numKinds]uint32 // entries of units that found no room
	link     *inlet           // next inlet on the root's dirty list; owned by that list while queued
}

// paddedInlet keeps neighbours' locks off each other's cache lines: the line
// and the one that the processor fetches with it.
type paddedInlet struct {
	inlet
	_ [128 - unsafe.Sizeof(inlet{})%128]byte
}

// An outcome is what became of an entry that was to be written.
type outcome uint8

const (
	outcomeRecorded outcome = iota
	outcomeLost             // there is no room
	outcomeUnfrozen         // not written: its attributes are to be frozen first
)

// A wake says whether a collection is wanted.
type wake uint8

const (
	wakeNone wake = iota
	wakeArm
	wakeUrgent
)

// wake sees to it that a collection runs if one is wanted. No lock is held: a scheduler is the caller's.
func (r *root) wake(w wake) {
	if w == wakeNone {
		return
	}
	r.arm()
	if w == wakeUrgent {
		r.wakeNow()
	}
}

// put writes an entry of the process timeline t to an inlet; see insert.
func (r *root) put(t *Timeline, ids SpanIDs, k kind, name string, start, duration, at time.Duration, attrs []slog.Attr, frozen bool) outcome {
	o, w := r.insert(t, ids, k, name, start, duration, at, attrs, frozen)
	r.wake(w)
	return o
}

// insert writes an entry of t, the process timeline or one of its units, to an inlet. frozen is whether the attributes are
// known to be frozen; else they must be scalars. The caller passes the result to wake.
func (r *root) insert(t *Timeline, ids SpanIDs, k kind, name string, start, duration, at time.Duration, attrs []slog.Attr, frozen bool) (outcome, wake) {
	if len(attrs) > maxInline {
		if !frozen && !allScalars(attrs) {
			return outcomeUnfrozen, wakeNone
		}
		attrs, frozen = box(attrs), true
	}
	in := r.inlet()
	in.mu.Lock()
	c := in.open
	urgent := false
	if c == nil || c.n == chunkLen || len(attrs) > chunkAttrs-c.nattrs {
		if c, urgent = r.grow(in); c == nil {
			if t.parent == nil {
				in.overflow[k]++
			} else {
				in.unshown[k]++
			}
			w := wakeNone
			if r.enlist(in) { // the collector must hear of it
				w = wakeArm
			}
			in.mu.Unlock()
			return outcomeLost, w
		}
	}
	if r.clock != nil {
		at = time.Duration(r.recorded.Add(1)) // times may be equal: count instead
	}
	rec := &c.records[c.n]
	rec.tl = t
	rec.name = name
	rec.ids = ids
	rec.start = start
	rec.duration = duration
	rec.at = at
	rec.kind = k
	if len(attrs) > 0 {
		to := c.attrs[c.nattrs:][:len(attrs)]
		copy(to, attrs)
		if !frozen && !allScalars(attrs) { // costs half as much here as before the lock, measured
			clear(to)
			*rec = record{}
			in.mu.Unlock()
			return outcomeUnfrozen, wakeNone
		}
		rec.attrs = uint16(c.nattrs)
		rec.nattrs = uint8(len(attrs))
		c.nattrs += len(attrs)
	}
	c.n++
	c.latest = max(c.latest, at)
	w := wakeNone
	if r.enlist(in) {
		w = wakeArm
	}
	in.mu.Unlock()
	if urgent {
		w = wakeUrgent
	}
	return outcomeRecorded, w
}

// grow gives in a fresh chunk, or none when too many are in use. in.mu is held.
// urgent is whether the collector should hurry.
func (r *root) grow(in *inlet) (_ *chunk, urgent bool) {
	// The bound is for all inlets together: goroutines may crowd on one.
	used := r.inFlight.Add(1)
	if used > r.maxChunks {
		r.inFlight.Add(-1)
		return nil, false
	}
	c := r.chunks.Get().(*chunk)
	c.reset()
	in.chunks = append(in.chunks, c)
	in.open = c
	return c, used == r.urgentAt
}

// inlet picks where the calling goroutine writes. The address of a variable on
// its stack tells goroutines apart at a third of the cost of a random number,
// and keeps one goroutine on one inlet most of the time. It is only hashed,
// never turned back into a pointer.
func (r *root) inlet() *inlet {
	var here byte
	h := uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B97F4A7C15
	return &r.inlets[h>>32&uint64(len(r.inlets)-1)].inlet
}

// take takes the records written up to the moment until, in order, and reports
// whether there are more. What comes later is left for the next pass: it would
// overtake entries that its goroutine wrote to another inlet before, which this
// pass has been to already. r.mu is held.
func (r *root) take(in *inlet, until time.Duration) (more bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	done := 0
	for _, c := range in.chunks {
		from, to := int(in.head), c.n
		if c.latest > until { // seldom, and the inlet's writers wait: else look at no record
			to = from
		}
		for to < c.n && (c.records[to].at <= until || r.misdated(&c.records[to])) {
			to++
		}
		for i := from; i < to; i++ {
			r.refs = append(r.refs, ref{c, i})
		}
		if more = to < c.n; more {
			in.head = uint8(to)
			break
		}
		in.head = 0
		r.spent = append(r.spent, c)
		done++
	}
	rest := copy(in.chunks, in.chunks[done:])
	clear(in.chunks[rest:])
	in.chunks = in.chunks[:rest]
	if rest == 0 {
		in.open = nil
	}
	in.queued = false
	for k, n := range in.overflow {
		r.totals[k].Overflow += uint64(n)
	}
	for k, n := range in.unshown {
		r.totals[k].ObserverFull += uint64(n)
	}
	in.overflow, in.unshown = [numKinds]uint32{}, [numKinds]uint32{}
	if more {
		r.enlist(in)
	}
	return more
}

// misdated reports whether rec is ahead of the clock: its caller gave it a wrong
// time, and it must not hold others up.
func (r *root) misdated(rec *record) bool { return r.clock == nil && rec.at > r.now() }

// enlist puts an inlet on the dirty list unless it is there, and reports whether
// it was not. in.mu is held: a goroutine that writes to the inlet next and then collects
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

// takeDirty empties the dirty list and returns its inlets, oldest first.
func (r *root) takeDirty() (oldest *inlet) {
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
