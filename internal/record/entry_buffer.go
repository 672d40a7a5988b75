package record

import (
	"maps"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"
)

// An entryBuffer is a timeline's performance entry buffer (Performance Timeline 2, "add to the
// buffer"). The mu of the timeline guards the buffer.
type entryBuffer struct {
	entries []Entry    // immutable: readers share them
	limit   int        // of entries of each kind
	bytes   int        // of entries and names, with the memory that they refer to
	counted int        // bytes in steps: the buffer's share of a bound
	unit    *Unit      // nil for a process timeline
	share   *viewShare // nil until a unit's buffer has more than freeView bytes
	counts  [numKinds]int
	full    [numKinds]uint64 // entries without room (PT-3)
	slab    attrSlab

	// names is an index: the start of the most recent mark of each name, in entries[:indexed] and
	// among the marks without room. The index is nil until the first search needs it.
	names   map[string]time.Duration
	indexed int
}

// minRoom is the first capacity of a buffer, in entries.
const minRoom = 8

// Bounds of buffers, in bytes.
const (
	maxBufferBytes = 16 << 20 // of the buffer of a process timeline
	maxViews       = 16 << 20 // of the buffers of its units together
	freeView       = 2 << 10  // of a unit's buffer that does not count in maxViews
)

// ensureBuffer returns t's buffer, and creates the buffer if t has none. t.mu is held.
func (t *Timeline) ensureBuffer() *entryBuffer {
	if t.buffer == nil {
		t.buffer = &entryBuffer{limit: t.root.limit, unit: t.unit}
		if t.unit != nil {
			t.buffer.limit = t.root.childLimit
		}
	}
	return t.buffer
}

// dropBuffer empties the buffer of a unit. t.mu is held.
func (t *Timeline) dropBuffer() {
	if b := t.buffer; b != nil && b.share != nil {
		b.share.release()
	}
	t.buffer = nil
}

// reserve counts the bytes of an entry. reserve returns false if a bound leaves no room.
func (b *entryBuffer) reserve(size int) bool {
	if b.unit != nil && b.bytes+size <= freeView {
		b.bytes += size
		return true
	}
	if more := steps(b.bytes + size - b.counted); more > 0 {
		if b.unit == nil && b.counted+more > maxBufferBytes || b.unit != nil && !b.growShare(more) {
			return false
		}
		b.counted += more
	}
	b.bytes += size
	return true
}

// A viewShare is the share of one unit's buffer in maxViews.
type viewShare struct {
	left  *atomic.Int64 // the bytes of maxViews without a unit
	bytes atomic.Int64
}

func (s *viewShare) release() { s.left.Add(s.bytes.Swap(0)) }

// growShare takes more of maxViews, until the unit ends or the garbage collector frees the unit.
func (b *entryBuffer) growShare(more int) bool {
	left := b.unit.root.units.viewsLeft
	if !subtract(left, int64(more)) {
		return false
	}
	if b.share == nil {
		b.share = &viewShare{left: left}
		runtime.AddCleanup(b.unit, (*viewShare).release, b.share)
	}
	b.share.bytes.Add(int64(more))
	return true
}

const entrySize = int(unsafe.Sizeof(Entry{}))

// size returns the memory of an entry in bytes.
func (e *Entry) size() int {
	return entrySize + len(e.name) + len(e.attrs)*attrSize + Contents(e.attrs)
}

// lockBuffer locks t.mu and returns t's buffer, with everything that the calling goroutine
// recorded. Without a buffer, lockBuffer returns an empty one.
func (t *Timeline) lockBuffer() *entryBuffer {
	if t.unit == nil {
		t.Flush()
	}
	t.mu.Lock()
	t.syncBuffer()
	if t.buffer == nil {
		return &entryBuffer{}
	}
	return t.buffer
}

// Read returns the entries in t's buffer, in the order of recording. The caller must not change the
// entries.
func (t *Timeline) Read() []Entry {
	b := t.lockBuffer()
	defer t.mu.Unlock()
	return b.entries
}

// Clear removes entries of type typ from t's buffer, and returns the number of removed entries.
// Without names, Clear removes all entries of the type. Otherwise, Clear removes only the entries
// with one of the names. The empty string counts as a name. Clear does not change the buffers of
// observers.
func (t *Timeline) Clear(typ Type, names ...string) int {
	k, ok := kindOf(typ)
	if !ok {
		return 0
	}
	b := t.lockBuffer()
	defer t.mu.Unlock()
	return b.remove(k, func(name string) bool {
		return len(names) == 0 ||
			slices.ContainsFunc(names, func(n string) bool { return Name(n) == name })
	})
}

// room reports whether the limit leaves room for an entry of kind k.
func (b *entryBuffer) room(k kind) bool { return b.counts[k] < b.limit }

// refuse counts an entry without room. A mark enters the index, to hide older marks of its name.
func (b *entryBuffer) refuse(k kind, name string, start time.Duration) {
	const nameSize = 48 // about the memory of a name in the index, without the text
	b.full[k]++
	if k != kindMark {
		return
	}
	b.index()
	// The bound of names without an entry: Latest does not find the names beyond the bound.
	if _, known := b.names[name]; !known &&
		(len(b.names) >= 2*b.limit+1024 || !b.reserve(nameSize+len(name))) {
		return
	}
	b.names[name] = start
}

// remove removes the matching entries of kind k and returns their number.
func (b *entryBuffer) remove(k kind, match func(name string) bool) int {
	if b.names != nil {
		b.index()
		if k == kindMark {
			maps.DeleteFunc(b.names, func(name string, _ time.Duration) bool { return match(name) })
		}
	}
	var rest []Entry
	for i := range b.entries {
		if e := &b.entries[i]; e.kind != k || !match(e.name) {
			rest = append(rest, *e)
		} else {
			b.bytes -= e.size()
		}
	}
	removed := len(b.entries) - len(rest)
	b.entries, b.indexed = rest, len(rest)
	b.counts[k] -= removed
	return removed
}

// index adds the entries since the last call to names.
func (b *entryBuffer) index() {
	if b.names == nil {
		b.names, b.indexed = map[string]time.Duration{}, 0
	}
	for i := range b.entries[b.indexed:] {
		if e := &b.entries[b.indexed+i]; e.kind == kindMark {
			b.names[e.name] = e.start
		}
	}
	b.indexed = len(b.entries)
}

// Latest returns the start of the most recent mark in t's buffer with the given name. The start is
// relative to t's origin (User Timing 3, "convert a mark to a timestamp"). ok is false if the
// buffer contains no such mark.
func (t *Timeline) Latest(name string) (at time.Duration, ok bool) {
	const few = 128 // entries: a search is quicker than an index
	name = Name(name)
	b := t.lockBuffer()
	defer t.mu.Unlock()
	if b.names == nil && len(b.entries) <= few {
		for i := range slices.Backward(b.entries) {
			if e := &b.entries[i]; e.kind == kindMark && e.name == name {
				return e.start - t.origin, true
			}
		}
		return 0, false
	}
	b.index()
	at, ok = b.names[name]
	return at - t.origin, ok
}
