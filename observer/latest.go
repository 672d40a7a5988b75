package observer

import (
	"slices"
	"time"
)

// Latest is the start time of the mark of that name that was recorded last
// (User Timing 3, "convert a mark to a timestamp").
func (t *Timeline) Latest(name string) (time.Duration, bool) {
	if t.parent == nil {
		t.Flush()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.show()
	if t.log == nil {
		return 0, false
	}
	at, ok := t.log.latest(name)
	if !ok {
		return 0, false
	}
	return at - t.origin, true
}

// latest is the start of the mark of that name that was added last.
func (l *log) latest(name string) (time.Duration, bool) {
	const few = 2 * maxSegment // entries that are quicker looked through than indexed
	if l.names == nil {
		n := 0
		for _, seg := range l.segs {
			n += len(seg)
		}
		if n <= few {
			return l.scan(name)
		}
		l.names = newNameIndex()
	}
	l.names.catchUp(l)
	return l.names.get(name)
}

func (l *log) scan(name string) (time.Duration, bool) {
	for _, seg := range slices.Backward(l.segs) {
		for i := range slices.Backward(seg) {
			if e := &seg[i]; e.kind == kindMark && e.name == name {
				return e.start, true
			}
		}
	}
	return 0, false
}

// A nameIndex knows the most recent mark of each name in a log. It is kept up
// lazily: entries that the log holds are looked at when a name is asked for.
type nameIndex struct {
	at map[string]*time.Duration

	// recent finds names that come again and again without hashing them.
	recent [32]struct {
		name string
		at   *time.Duration
	}

	seg, off int // the first entry of the log that was not looked at
}

func newNameIndex() *nameIndex {
	return &nameIndex{at: map[string]*time.Duration{}}
}

// set notes the start of the most recent mark of a name.
func (x *nameIndex) set(name string, start time.Duration) {
	slot := &x.recent[slotOf(name)%len(x.recent)]
	if slot.at != nil && slot.name == name {
		*slot.at = start
		return
	}
	at := x.at[name]
	if at == nil {
		at = new(time.Duration)
		x.at[name] = at
	}
	*at = start
	slot.name, slot.at = name, at
}

// slotOf spreads names well enough and looks at four bytes only. Comparing with
// the name found is quick, too: names are constants mostly, and so the same
// bytes in memory.
func slotOf(name string) int {
	n := len(name)
	if n == 0 {
		return 0
	}
	return n + 3*int(name[0]) + 5*int(name[n/2]) + 7*int(name[n-1])
}

func (x *nameIndex) get(name string) (time.Duration, bool) {
	if at := x.at[name]; at != nil {
		return *at, true
	}
	return 0, false
}

func (x *nameIndex) remove(match func(name string) bool) {
	for name := range x.at {
		if match(name) {
			delete(x.at, name)
		}
	}
	clear(x.recent[:])
}

// catchUp looks at what was added to l since the last time.
func (x *nameIndex) catchUp(l *log) {
	for ; x.seg < len(l.segs); x.seg, x.off = x.seg+1, 0 {
		seg := l.segs[x.seg]
		for ; x.off < len(seg); x.off++ {
			if e := &seg[x.off]; e.kind == kindMark {
				x.set(e.name, e.start)
			}
		}
		if x.seg == len(l.segs)-1 {
			return // it may still grow
		}
	}
}

// skip takes all that is in l for known.
func (x *nameIndex) skip(l *log) {
	x.seg, x.off = 0, 0
	if n := len(l.segs); n > 0 {
		x.seg, x.off = n-1, len(l.segs[n-1])
	}
}
