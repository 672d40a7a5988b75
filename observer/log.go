package observer

import (
	"maps"
	"slices"
	"time"
)

// A log is a timeline's performance entry buffer (Performance Timeline 2, "add
// to the buffer"). Its timeline's mu guards it.
type log struct {
	entries []Entry // never written again: readers share them
	limit   int     // of each kind
	counts  [numKinds]int
	full    [numKinds]uint64 // entries that found no room (PT-3)
	slab    attrSlab

	// The start of the most recent mark of each name, in the entries before indexed and in those that found no room. The
	// index is brought up to date when a name is asked for, and is nil until it is needed.
	names   map[string]time.Duration
	indexed int
}

// minRoom is how many entries a buffer has room for at first.
const minRoom = 8

// buffer is t's log, made if need be. t.mu is held.
func (t *Timeline) buffer() *log {
	if t.log == nil {
		limit := t.root.limit
		if t.parent != nil {
			limit = t.root.childLimit
		}
		t.log = &log{limit: limit}
	}
	return t.log
}

// lockLog locks t.mu and returns t's log, which has all that the calling goroutine recorded. It is not t's if that has none.
func (t *Timeline) lockLog() *log {
	if t.parent == nil {
		t.Flush()
	}
	t.mu.Lock()
	t.show()
	if t.log == nil {
		return &log{}
	}
	return t.log
}

// Clear removes entries of type typ from t's buffer and returns how many: without
// names all of them, else those that have one of the names. The name "" selects the
// entries whose name is empty. Entries that observers have buffered stay with them.
func (t *Timeline) Clear(typ Type, names ...string) int {
	k, ok := kindOf(typ)
	if !ok {
		return 0
	}
	l := t.lockLog()
	defer t.mu.Unlock()
	return l.remove(k, func(n string) bool { return len(names) == 0 || slices.Contains(names, n) })
}

// room reports whether the next entry of kind k will be kept.
func (l *log) room(k kind) bool { return l.counts[k] < l.limit }

// add appends e, whose attributes are not written again.
func (l *log) add(e *Entry) {
	l.counts[e.kind]++
	if l.entries == nil {
		l.entries = make([]Entry, 0, minRoom)
	}
	l.entries = append(l.entries, *e)
}

// refuse counts an entry that finds no room. A name must never resolve to an
// older mark because the newest was not kept: it goes into the index.
func (l *log) refuse(k kind, name string, start time.Duration) {
	l.full[k]++
	if k != kindMark {
		return
	}
	l.index()
	// Names that no entry in the buffer has are bounded: whoever makes them up
	// without end gets an error from Latest.
	if len(l.names) >= 2*l.limit+1024 {
		if _, known := l.names[name]; !known {
			return
		}
	}
	l.names[name] = start
}

// remove drops the entries of kind k that match and returns how many.
func (l *log) remove(k kind, match func(name string) bool) int {
	if l.names != nil {
		l.index()
		if k == kindMark {
			maps.DeleteFunc(l.names, func(name string, _ time.Duration) bool { return match(name) })
		}
	}
	var left []Entry
	for i := range l.entries {
		if e := &l.entries[i]; e.kind != k || !match(e.name) {
			left = append(left, *e)
		}
	}
	removed := len(l.entries) - len(left)
	l.entries, l.indexed = left, len(left)
	l.counts[k] -= removed
	return removed
}

// index brings names up to date.
func (l *log) index() {
	if l.names == nil {
		l.names, l.indexed = map[string]time.Duration{}, 0
	}
	for i := range l.entries[l.indexed:] {
		if e := &l.entries[l.indexed+i]; e.kind == kindMark {
			l.names[e.name] = e.start
		}
	}
	l.indexed = len(l.entries)
}

// Latest is the start time of the mark of that name that was recorded last
// (User Timing 3, "convert a mark to a timestamp").
func (t *Timeline) Latest(name string) (time.Duration, bool) {
	l := t.lockLog()
	defer t.mu.Unlock()
	at, ok := l.latest(name)
	if !ok {
		return 0, false
	}
	return at - t.origin, true
}

// latest is the start of the mark of that name that was added last.
func (l *log) latest(name string) (at time.Duration, ok bool) {
	const few = 128 // entries that are quicker looked through than indexed
	if l.names == nil && len(l.entries) <= few {
		for i := range slices.Backward(l.entries) {
			if e := &l.entries[i]; e.kind == kindMark && e.name == name {
				return e.start, true
			}
		}
		return 0, false
	}
	l.index()
	at, ok = l.names[name]
	return at, ok
}
