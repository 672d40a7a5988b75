package observer

import (
	"fmt"
	"time"
)

// A log is a timeline's performance entry buffer (Performance Timeline 2, "add
// to the buffer"): the collector appends, anyone reads. What is in a segment is
// never written again, so that a reader copies it without holding anyone up.
// Its timeline's mu guards it.
type log struct {
	segs   []segment
	limits [numKinds]int
	counts [numKinds]int
	full   [numKinds]uint64 // entries that found no room (PT-3)
	names  *nameIndex       // nil until it is needed
	slab   attrSlab
}

// A segment is a run of entries; those within its length are immutable.
type segment []Entry

// minSegment and maxSegment are how many entries a log makes room for at a time.
const (
	minSegment = 8
	maxSegment = 64
)

func newLog(limit int) *log {
	l := &log{}
	for k := range l.limits {
		l.limits[k] = limit
	}
	return l
}

// buffer is t's log, made if need be. t.mu is held.
func (t *Timeline) buffer() *log {
	if t.log == nil {
		limit := t.root.limit
		if t.parent != nil {
			limit = t.root.childLimit
		}
		t.log = newLog(limit)
	}
	return t.log
}

// SetBufferSize sets how many entries of type typ the timeline keeps, in place
// of what [TimelineOptions] said for all types (as setResourceTimingBufferSize
// does for one). Entries that it holds already stay. An unknown type and a
// negative size are errors.
func (t *Timeline) SetBufferSize(typ Type, size int) error {
	k, ok := kindOf(typ)
	if !ok {
		return fmt.Errorf("observer: SetBufferSize: entry type %q is not supported; supported are %q", typ, SupportedEntryTypes())
	}
	if size < 0 {
		return fmt.Errorf("observer: SetBufferSize: size %d of type %q: must not be negative", size, typ)
	}
	r := t.root
	r.mu.Lock()
	defer r.unlock()
	r.collect() // what was recorded before found the room that there was
	t.mu.Lock()
	defer t.mu.Unlock()
	t.show()
	t.buffer().limits[k] = size
	return nil
}

// room reports whether the next entry of kind k will be kept.
func (l *log) room(k kind) bool { return l.counts[k] < l.limits[k] }

// add appends e, whose attributes are not written again.
func (l *log) add(e Entry) {
	l.counts[e.kind]++
	n := len(l.segs)
	if n == 0 || len(l.segs[n-1]) == cap(l.segs[n-1]) {
		size := minSegment
		if n > 0 {
			size = min(2*cap(l.segs[n-1]), maxSegment)
		}
		l.segs = append(l.segs, make(segment, 0, size))
		n++
	}
	l.segs[n-1] = append(l.segs[n-1], e)
}

// refuse counts an entry that finds no room. A name must never resolve to an
// older mark because the newest was not kept: it goes into the index.
func (l *log) refuse(k kind, name string, start time.Duration) {
	l.full[k]++
	if k != kindMark {
		return
	}
	if l.names == nil {
		l.names = newNameIndex()
	}
	l.names.catchUp(l)
	// Names that no entry in the buffer has are bounded: whoever makes them up
	// without end gets an error from Latest.
	if len(l.names.at) < 2*l.limits[kindMark]+1024 || l.names.at[name] != nil {
		l.names.set(name, start)
	}
}

// remove drops the entries of kind k that match and returns how many.
func (l *log) remove(k kind, match func(name string) bool) int {
	if l.names != nil {
		l.names.catchUp(l)
		if k == kindMark {
			l.names.remove(match)
		}
	}
	old := l.segs
	removed := 0
	l.segs = nil
	l.counts = [numKinds]int{}
	for _, seg := range old {
		for i := range seg {
			if e := &seg[i]; e.kind == k && match(e.name) {
				removed++
			} else {
				l.add(*e)
			}
		}
	}
	if l.names != nil {
		l.names.skip(l)
	}
	return removed
}
