package record

import "log/slog"

// put records an entry that no receiver gets, with a copy of attrs, which are frozen. It reports
// false if there is no room.
func (t *Timeline) put(e *Entry, attrs []slog.Attr) bool {
	if t.unit != nil {
		return t.unit.put(e, attrs)
	}
	ok, wake := t.root.insert(e, attrs)
	if wake {
		t.root.wake()
	}
	return ok
}

// put is put of a timeline. There is always room.
func (u *Unit) put(e *Entry, attrs []slog.Attr) bool {
	u.mu.Lock()
	if !u.hasEnded() && !u.note(e, attrs) {
		u.show()
		u.keepOrCount(e, attrs)
	}
	u.shard.recorded[e.kind].Add(1)
	wake := false
	if u.watched(e.kind) {
		_, wake = u.root.insert(e, attrs)
	}
	u.mu.Unlock()
	if e.kind == kindMark && e.ids.Parent == (ID{}) {
		u.shard.unattached.Add(1)
	}
	if wake {
		u.root.wake()
	}
	return true
}

// Bounds of the entries of a unit without a receiver that wait in its journal, which costs less
// than the buffer.
const (
	maxNoted     = 64
	maxNotedSize = 16 << 10 // bytes
)

// note puts an entry into the journal of a unit without a receiver. It returns false if the buffer
// has to take it: it has been read, or there are many entries. u.mu is held.
func (u *Unit) note(e *Entry, attrs []slog.Attr) bool {
	if u.receiver != nil || u.buffer != nil || u.root.childLimit < maxNoted {
		return false
	}
	if u.journal == nil {
		u.journal, u.shown = newJournal(), 0
	}
	j := u.journal
	rec := &journalRecord{name: e.name, start: e.start, duration: e.duration, at: e.at,
		kind: e.kind, size: recordSize(Contents(attrs))}
	size := rec.sizeWith(attrs)
	if len(j.records) == maxNoted || j.size+size > maxNotedSize {
		return false
	}
	j.ids = append(j.ids, e.ids)
	rec.ids = int32(len(j.ids))
	j.append(rec, attrs)
	j.size += size
	return true
}

// entry returns the entry of a record that is in the journal, or about to be, and its attributes.
func (u *Unit) entry(rec *journalRecord, attrs []slog.Attr) (Entry, []slog.Attr) {
	e := Entry{name: rec.name, start: rec.start, duration: rec.duration, at: rec.at, base: u.origin,
		tl: &u.Timeline, kind: rec.kind}
	switch {
	case rec.gets == getsSpan:
		d := rec.span.Describe()
		e.name, e.ids = d.Name, rec.span.IDs()
		e.start, e.duration = interval(u.origin, u.Since(d.Start), d.End.Sub(d.Start))
		e.at = e.start + e.duration
		if len(attrs) == 0 {
			attrs = d.Attrs
		}
	case rec.ids > 0:
		e.ids = u.journal.ids[rec.ids-1]
	default:
		e.ids = under(rec.span.IDs(), rec.kind, rec.queued)
	}
	return e, attrs
}

// tell shows the entry of a record to observers, and reports whether the caller has to call wake.
// u.mu is held, as in Register: an observer gets each entry once, from the buffer or from here.
func (u *Unit) tell(rec *journalRecord, attrs []slog.Attr) (wake bool) {
	if rec.kind == kindNone || !u.watched(rec.kind) {
		return false
	}
	e, attrs := u.entry(rec, attrs)
	_, wake = u.root.insert(&e, attrs)
	return wake
}

// keep adds e to the buffer, with a copy of attrs. It reports false if there is no room. mu is
// held.
func (t *Timeline) keep(e *Entry, attrs []slog.Attr) bool {
	b := t.ensureBuffer()
	if !b.room(e.kind) || !b.reserve(entrySize+len(e.name)+len(attrs)*attrSize+Contents(attrs)) {
		b.refuse(e.kind, e.name, e.start)
		return false
	}
	e.attrs = b.slab.keep(attrs)
	b.counts[e.kind]++
	if b.entries == nil {
		b.entries = make([]Entry, 0, minRoom)
	}
	b.entries = append(b.entries, *e)
	return true
}

// keepOrCount adds e to the buffer of a unit, or counts it as BufferFull. u.mu is held.
func (u *Unit) keepOrCount(e *Entry, attrs []slog.Attr) {
	if !u.keep(e, attrs) {
		u.shard.bufferFull[e.kind].Add(1)
	}
}

// show brings the buffer of a unit up to date, unless the unit has ended. mu is held.
func (t *Timeline) show() {
	if !t.hasEnded() {
		t.fillBuffer()
	}
}

// fillBuffer adds to the buffer what the journal of a unit has. mu is held.
func (t *Timeline) fillBuffer() {
	u := t.unit
	if u == nil || u.journal == nil {
		return
	}
	j := u.journal
	for ; int(u.shown) < len(j.records); u.shown++ {
		rec := &j.records[u.shown]
		switch {
		case rec.kind == kindNone:
		case rec.gets == getsSpan && !u.ensureBuffer().room(rec.kind): // not described in vain
			u.keepOrCount(&Entry{kind: rec.kind}, nil)
		default:
			e, attrs := u.entry(rec, j.attributes(rec))
			u.keepOrCount(&e, attrs)
		}
	}
}
