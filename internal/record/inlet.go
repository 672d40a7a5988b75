package record

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"unsafe"
)

// A chunk takes less than 6 KiB.
const (
	chunkLen        = 24       // entries
	chunkAttrs      = 60       // attributes
	chunkBytes      = 16 << 10 // that several entries of a chunk may refer to
	pendingPerChunk = 16       // entries of TimelineOptions.MaxPending: not all chunks are full
	maxInline       = 16       // attributes of an entry; more attributes get a slice of their own
)

// A chunk is a run of entries. In use, entries[:n] and attrs[:nattrs] are immutable, and the rest
// is zero. Chunks are cleared on reuse, so that the next writer's cache is warm.
type chunk struct {
	next    *chunk // the next chunk of the inlet
	pass    uint64 // the number of passes that had begun before the first entry
	n       int
	nattrs  int
	bytes   int // that the entries refer to
	entries [chunkLen]Entry
	attrs   [chunkAttrs]slog.Attr
}

// An inlet is a buffer for entries of a process timeline, and for entries of its units that
// observers want. A timeline has several inlets, so that cores do not contend for one lock. The
// collector takes the chunks and recycles them.
type inlet struct {
	mu     sync.Mutex // guards the fields below
	first  *chunk     // nil without a chunk
	newest *chunk     // the first chunk with the pass of the last chunk
	last   *chunk     // the chunk that insert fills

	queued bool   // the inlet is on the dirty list
	link   *inlet // the next inlet on the root's dirty list, which owns the field while queued

	_ [128]byte // separates the cache lines of two inlets
}

// insert copies an entry and its frozen attributes to an inlet, or counts the entry as lost. insert
// reports whether there was room, and whether the caller has to call wake.
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
	full := c == nil || c.pass != pass || c.n == chunkLen || inline > chunkAttrs-c.nattrs ||
		c.n > 0 && c.bytes+size > chunkBytes
	if full {
		if c = r.grow(in, pass); c == nil {
			lost := &r.overflow
			if e.tl.unit != nil {
				lost = &r.observerLosses
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

// grow adds an empty chunk to in, or returns nil when too many chunks are in use. The bound counts
// the chunks of all inlets: many goroutines may share one inlet. in.mu is held.
func (r *root) grow(in *inlet, pass uint64) *chunk {
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

// inlet returns the inlet of the calling goroutine, by a hash of an address on its stack: in a
// third of the time of a random number, and mostly the same inlet.
func (r *root) inlet() *inlet {
	var here byte
	h := uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B97F4A7C15
	return &r.inlets[h>>32&uint64(len(r.inlets)-1)]
}

// enlist puts an inlet on the dirty list once. in.mu is held, so that the inlet is on the list
// before another goroutine can write to the inlet and collect.
func (r *root) enlist(in *inlet) {
	for !in.queued {
		in.link = r.dirty.Load()
		in.queued = r.dirty.CompareAndSwap(in.link, in)
	}
}

// take moves the chunks of all inlets to r.passChunks, and returns the number of inlets with
// chunks. take leaves a chunk that was begun during the call: an entry there would overtake an
// earlier entry of the same goroutine in another inlet. r.mu is held.
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
		for c := first; c != nil && c.pass < pass; c = c.next { // unlocked: the list may be long
			r.passChunks = append(r.passChunks, c)
		}
		in = next
	}
	return inlets
}

// merge sorts the entries of several inlets by the time of recording.
func merge(entries []*Entry) {
	slices.SortStableFunc(entries, func(a, b *Entry) int { return cmp.Compare(a.at, b.at) })
}
