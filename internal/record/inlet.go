package record

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"unsafe"
)

const (
	// chunkLen and chunkAttrs make a chunk of less than 6 KiB.
	chunkLen   = 24
	chunkAttrs = 60
	// chunkBytes is how much the entries of a chunk refer to, unless it has one entry only.
	chunkBytes = 16 << 10
	// pendingPerChunk is how many entries of TimelineOptions.MaxPending a chunk stands for. Not all
	// chunks are filled.
	pendingPerChunk = 16
	// maxInline is how many attributes of one entry go into the chunk. More attributes have a slice
	// of their own.
	maxInline = 16
)

// A chunk is a run of entries. While it is in use, entries below n and attributes below nattrs are
// immutable, and the rest is zero. A chunk in the pool keeps its entries: the next writer clears
// them, so that the writer's cache is warm.
type chunk struct {
	next    *chunk // that was written after it
	pass    uint64 // the number of passes that had begun before it was written
	n       int
	nattrs  int
	bytes   int // that the entries refer to
	entries [chunkLen]Entry
	attrs   [chunkAttrs]slog.Attr
}

// An inlet is where entries of a process timeline are written, and entries of its units that
// observers want. There are several, so that cores do not meet at one lock. The collector takes the
// chunks away and gives them back empty.
type inlet struct {
	mu     sync.Mutex // guards what follows
	first  *chunk     // nil when there is none
	newest *chunk     // the first one with the pass of the last one
	last   *chunk     // the one that is written

	queued bool   // on the dirty list
	link   *inlet // next inlet on the root's dirty list; owned by that list while queued

	_ [128]byte // keeps the next one's lock off these cache lines
}

// insert writes an entry of the process timeline or of one of its units to an inlet, with a copy of
// attrs, which are frozen. It reports whether there was room, and whether the caller has to call
// wake. It counts what is lost.
func (r *root) insert(e *Entry, attrs []slog.Attr) (ok, wake bool) {
	inline := len(attrs)
	if inline > maxInline {
		inline = 0
	}
	in := r.inlet()
	in.mu.Lock()
	defer in.mu.Unlock()
	c, pass := in.last, r.passes.Load()
	size := len(e.name) + Contents(attrs)
	if c == nil || c.pass != pass || c.n == chunkLen || inline > chunkAttrs-c.nattrs || c.n > 0 &&
		c.bytes+size > chunkBytes {
		if c = r.grow(in, pass); c == nil {
			lost := &r.overflow
			if e.tl.unit != nil {
				lost = &r.unshown
			}
			lost[e.kind].Add(1)
			return false, false
		}
		wake = true
	}
	to := &c.entries[c.n]
	*to = *e
	switch {
	case inline > 0:
		to.attrs = c.attrs[c.nattrs : c.nattrs+inline : c.nattrs+inline]
		copy(to.attrs, attrs)
		c.nattrs += inline
	case len(attrs) > 0:
		to.attrs = slices.Clone(attrs)
	}
	c.n++
	c.bytes += size
	r.enlist(in)
	return true, wake
}

// grow gives in a fresh chunk, or none when too many are in use. in.mu is held.
func (r *root) grow(in *inlet, pass uint64) *chunk {
	// The bound is for all inlets together: goroutines may crowd on one.
	if r.inFlight.Add(1) > r.maxChunks {
		r.inFlight.Add(-1)
		return nil
	}
	c := r.chunks.Get().(*chunk)
	clear(c.entries[:c.n])
	clear(c.attrs[:c.nattrs])
	c.n, c.nattrs, c.bytes, c.next, c.pass = 0, 0, 0, nil, pass
	if in.last == nil {
		in.first = c
	} else {
		in.last.next = c
	}
	if in.last == nil || in.last.pass != pass {
		in.newest = c
	}
	in.last = c
	return c
}

// inlet picks the inlet of the calling goroutine by the address of a variable on its stack. This
// costs a third of a random number, and mostly keeps a goroutine on one inlet. The address is only
// hashed.
func (r *root) inlet() *inlet {
	var here byte
	h := uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B97F4A7C15
	return &r.inlets[h>>32&uint64(len(r.inlets)-1)]
}

// enlist puts an inlet on the dirty list once. The caller holds in.mu: the inlet is on the list
// before another goroutine can write to it and collect.
func (r *root) enlist(in *inlet) {
	for !in.queued {
		in.link = r.dirty.Load()
		in.queued = r.dirty.CompareAndSwap(in.link, in)
	}
}

// take takes the chunks that were written before it, and returns how many inlets had some. It
// leaves a chunk that was begun meanwhile: an entry there would overtake another one, which its
// goroutine wrote to another inlet before. r.mu is held.
func (r *root) take() (inlets int) {
	pass := r.passes.Add(1)
	for in := r.dirty.Swap(nil); in != nil; inlets++ {
		in.mu.Lock()
		next := in.link
		in.queued = false
		first := in.first
		if in.last.pass == pass {
			in.first = in.newest
			r.enlist(in)
		} else {
			in.first, in.newest, in.last = nil, nil, nil
		}
		in.mu.Unlock()
		// without the lock: there may be many
		for c := first; c != nil && c.pass < pass; c = c.next {
			r.taken = append(r.taken, c)
		}
		in = next
	}
	return inlets
}

// merge puts the entries of several inlets in the order of recording, which is that of the clock.
// Entries of the same moment keep their place.
func merge(entries []*Entry) {
	slices.SortStableFunc(entries, func(a, b *Entry) int { return cmp.Compare(a.at, b.at) })
}
