package observer

import (
	"sync"
	"time"
)

// A log is a timeline's performance entry buffer (Performance Timeline 2, "add
// to the buffer"): the collector appends, anyone reads. Chunks of a log are
// never written again once they are full and never reused, so that a reader
// copies them without holding anyone up.
type log struct {
	mu     sync.Mutex // guards what follows; taken before an inlet's
	chunks []*chunk
	counts [numKinds]int
	full   [numKinds]uint64 // entries that found no room (PT-3)

	// latest holds the most recent mark of each name once marks found no room,
	// and is nil before: a name must never resolve to an older mark because the
	// newest was not kept.
	latest map[string]time.Duration
}

// add appends a copy of e unless its kind has limit entries already.
func (l *log) add(e *Entry, limit int, keepScope bool) bool {
	if l.latest != nil && e.kind == kindMark {
		l.remember(e, limit)
	}
	if l.counts[e.kind] >= limit {
		l.full[e.kind]++
		if e.kind == kindMark && l.latest == nil {
			l.latest = make(map[string]time.Duration)
			for _, c := range l.chunks {
				for i := range c.entries[:c.n] {
					if c.entries[i].kind == kindMark {
						l.remember(&c.entries[i], limit)
					}
				}
			}
			l.remember(e, limit)
		}
		return false
	}
	l.counts[e.kind]++
	n := len(l.chunks)
	if n == 0 || l.chunks[n-1].n == chunkLen {
		l.chunks = append(l.chunks, new(chunk))
		n++
	}
	c := l.chunks[n-1]
	c.entries[c.n] = *e
	if !keepScope {
		c.entries[c.n].scope = nil
	}
	c.n++
	return true
}

// remember notes e as the most recent mark of its name. Names beyond a bound are
// not: whoever makes up names without end gets an error from Latest.
func (l *log) remember(e *Entry, limit int) {
	if _, known := l.latest[e.name]; known || len(l.latest) < 2*limit+1024 {
		l.latest[e.name] = e.start
	}
}

// remove drops the entries of kind k that match and returns how many.
func (l *log) remove(k kind, match func(name string) bool) int {
	old := l.chunks
	l.chunks = nil
	removed := 0
	l.counts = [numKinds]int{}
	for _, c := range old {
		for i := range c.entries[:c.n] {
			e := &c.entries[i]
			if e.kind == k && match(e.name) {
				removed++
				continue
			}
			n := len(l.chunks)
			if n == 0 || l.chunks[n-1].n == chunkLen {
				l.chunks = append(l.chunks, new(chunk))
				n++
			}
			c := l.chunks[n-1]
			c.entries[c.n] = *e
			c.n++
			l.counts[e.kind]++
		}
	}
	if k == kindMark {
		for name := range l.latest {
			if match(name) {
				delete(l.latest, name)
			}
		}
	}
	return removed
}

// A segment is an immutable run of entries.
type segment []Entry

// segments are the log's entries. Its mu is held.
func (l *log) segments() []segment {
	segs := make([]segment, 0, len(l.chunks)+1)
	for _, c := range l.chunks {
		segs = append(segs, c.entries[:c.n:c.n])
	}
	return segs
}

// view returns what the timeline holds now, oldest first: its log, and what is
// still in its inlet when it has only one (of several, the collector merges
// them first). A log's chunks are handed out as they are, an inlet's are copied,
// because they are used again.
func (t *Timeline) view() []segment {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	segs := t.log.segments()
	if len(t.inlets) > 1 {
		return segs
	}
	in := &t.inlets[0]
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.chunks) == 0 {
		return segs
	}
	fresh := make(segment, 0, len(in.chunks)*chunkLen)
	counts := t.log.counts
	for i, c := range in.chunks {
		from := 0
		if i == 0 {
			from = in.head
		}
		for i := range c.entries[from:c.n] {
			e := &c.entries[from+i]
			if e.tl == t && e.kind != kindMessage && counts[e.kind] < t.limit { // what the log will keep
				counts[e.kind]++
				fresh = append(fresh, *e)
			}
		}
	}
	return append(segs, fresh)
}

// latestMark finds the start of the most recent mark of that name.
func (t *Timeline) latestMark(name string) (time.Duration, bool) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	if len(t.inlets) == 1 {
		in := &t.inlets[0]
		in.mu.Lock()
		at, ok := lastIn(in.chunks, in.head, t, name)
		in.mu.Unlock()
		if ok {
			return at, true
		}
	}
	if t.log.latest != nil {
		at, ok := t.log.latest[name]
		return at, ok
	}
	return lastIn(t.log.chunks, 0, t, name)
}

// lastIn finds the last mark of t of that name. The entries of the first chunk
// before head do not count.
func lastIn(chunks []*chunk, head int, t *Timeline, name string) (time.Duration, bool) {
	for i := len(chunks) - 1; i >= 0; i-- {
		first := 0
		if i == 0 {
			first = head
		}
		for j := chunks[i].n - 1; j >= first; j-- {
			if e := &chunks[i].entries[j]; e.kind == kindMark && e.name == name && e.tl == t {
				return e.start, true
			}
		}
	}
	return 0, false
}
