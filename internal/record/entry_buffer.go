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
// buffer"). Its timeline's mu guards it.
type entryBuffer struct {
	entries []Entry // never written again: readers share them
	limit   int     // of each kind
	bytes   int     // of entries and names, with what they refer to
	counted int     // of bytes, in steps
	unit    *Unit   // nil for a process timeline
	taken   *taken  // of maxViews; nil unless a unit's buffer has more than freeView
	counts  [numKinds]int
	full    [numKinds]uint64 // entries that found no room (PT-3)
	slab    attrSlab

	// The start of the most recent mark of each name, in the entries before indexed and in those
	// that found no room. The index is brought up to date when a name is asked for, and is nil
	// until it is needed.
	names   map[string]time.Duration
	indexed int
}

// minRoom is how many entries a buffer has room for at first.
const minRoom = 8

// Bounds of bytes.
const (
	maxBufferBytes = 16 << 20 // of the buffer of a process timeline
	// of the buffers of its units together; their journals have maxUnitsBytes
	maxViews = 16 << 20
	// of a unit's buffer, without a share of maxViews: the unit itself takes as much
	freeView = 2 << 10
)

// ensureBuffer returns t's buffer, and makes it if there is none. t.mu is held.
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
	if t.buffer != nil {
		if t.buffer.taken != nil {
			t.buffer.taken.release()
		}
		t.buffer = nil
	}
}

// reserve takes room for an entry, and returns false if there is none.
func (b *entryBuffer) reserve(size int) bool {
	if b.unit != nil && b.bytes+size <= freeView {
		b.bytes += size
		return true
	}
	if more := steps(b.bytes + size - b.counted); more > 0 {
		if b.unit == nil && b.counted+more > maxBufferBytes || b.unit != nil && !b.take(more) {
			return false
		}
		b.counted += more
	}
	b.bytes += size
	return true
}

// taken is the share of maxViews that the buffer of one unit has.
type taken struct {
	left  *atomic.Int64 // the bytes that no unit has
	bytes atomic.Int64
}

func (t *taken) release() { t.left.Add(t.bytes.Swap(0)) }

// take takes more bytes of maxViews. The unit gives them back when it ends, or when it is collected
// without an end.
func (b *entryBuffer) take(more int) bool {
	left := b.unit.root.units.viewsLeft
	if !subtract(left, int64(more)) {
		return false
	}
	if b.taken == nil {
		b.taken = &taken{left: left}
		runtime.AddCleanup(b.unit, (*taken).release, b.taken)
	}
	b.taken.bytes.Add(int64(more))
	return true
}

const entrySize = int(unsafe.Sizeof(Entry{}))

// size returns the memory of an entry.
func (e *Entry) size() int {
	return entrySize + len(e.name) + len(e.attrs)*attrSize + Contents(e.attrs)
}

// lockBuffer locks t.mu and returns t's buffer, which has all that the calling goroutine recorded.
// If t has none, it returns an empty one.
func (t *Timeline) lockBuffer() *entryBuffer {
	if t.unit == nil {
		t.Flush()
	}
	t.mu.Lock()
	t.show()
	if t.buffer == nil {
		return &entryBuffer{}
	}
	return t.buffer
}

// Read returns the entries in t's buffer, in the order of recording. They are shared: do not change
// them.
func (t *Timeline) Read() []Entry {
	b := t.lockBuffer()
	defer t.mu.Unlock()
	return b.entries
}

// Clear removes entries of type typ from t's buffer and returns how many: all of them without
// names, else those with one of the names, which may be "". Entries that observers have buffered
// stay.
func (t *Timeline) Clear(typ Type, names ...string) int {
	k, ok := kindOf(typ)
	if !ok {
		return 0
	}
	b := t.lockBuffer()
	defer t.mu.Unlock()
	return b.remove(k, func(has string) bool {
		return len(names) == 0 ||
			slices.ContainsFunc(names, func(n string) bool { return Name(n) == has })
	})
}

// room reports whether the next entry of kind k will be kept.
func (b *entryBuffer) room(k kind) bool { return b.counts[k] < b.limit }

// refuse counts an entry that finds no room. The start of a mark goes into the index, because its
// name must not resolve to an older mark.
func (b *entryBuffer) refuse(k kind, name string, start time.Duration) {
	const nameSize = 48 // about the memory of a name in the index, without the text
	b.full[k]++
	if k != kindMark {
		return
	}
	b.index()
	// Names that no entry in the buffer has are bounded. Latest does not find the names beyond that
	// bound.
	if _, known := b.names[name]; !known &&
		(len(b.names) >= 2*b.limit+1024 || !b.reserve(nameSize+len(name))) {
		return
	}
	b.names[name] = start
}

// remove drops the entries of kind k that match and returns how many.
func (b *entryBuffer) remove(k kind, match func(name string) bool) int {
	if b.names != nil {
		b.index()
		if k == kindMark {
			maps.DeleteFunc(b.names, func(name string, _ time.Duration) bool { return match(name) })
		}
	}
	var left []Entry
	for i := range b.entries {
		if e := &b.entries[i]; e.kind != k || !match(e.name) {
			left = append(left, *e)
		} else {
			b.bytes -= e.size()
		}
	}
	removed := len(b.entries) - len(left)
	b.entries, b.indexed = left, len(left)
	b.counts[k] -= removed
	return removed
}

// index brings names up to date.
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

// Latest returns the start of the last mark of that name (User Timing 3, "convert a mark to a
// timestamp").
func (t *Timeline) Latest(name string) (at time.Duration, ok bool) {
	const few = 128 // entries that are quicker looked through than indexed
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
	if at, ok = b.names[name]; !ok {
		return 0, false
	}
	return at - t.origin, true
}
