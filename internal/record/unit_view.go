package record

import "log/slog"

// put records an entry without a receiver, with frozen attributes. put returns false without room.
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

// put implements Timeline.put for a unit, which always has room.
func (u *Unit) put(e *Entry, attrs []slog.Attr) bool {
	u.mu.Lock()
	if !u.hasEnded() && !u.note(e, attrs) {
		u.syncBuffer()
		u.keepOrCount(e, attrs)
	}
	if u.mirror != nil && e.ids.ObserversOnly { // nothing else writes entries of an unrecorded span
		u.mirrorUnder(e.kind, getsMeasure, nil, e.name, e.start, e.duration, attrs)
	}
	u.shard.recorded[e.kind].Add(1)
	wake := false
	if u.watched(e.kind) {
		_, wake = u.root.insert(e, attrs)
	}
	u.mu.Unlock()
	if e.kind == kindMark && e.ids.Parent == (ID{}) {
		u.shard.marksWithoutSpan.Add(1)
	}
	if wake {
		u.root.wake()
	}
	return true
}

// Bounds of the entries in a journal without a receiver. A journal costs less than a buffer.
const (
	maxNoted     = 64
	maxNotedSize = 16 << 10 // bytes
)

// note appends an entry to the journal of a unit without a receiver. note returns false if the
// entry belongs in the buffer, because the buffer was read, or because the journal is full. u.mu is
// held.
func (u *Unit) note(e *Entry, attrs []slog.Attr) bool {
	if u.receiver != nil || u.buffer != nil || u.root.childLimit < maxNoted {
		return false
	}
	if u.journal == nil {
		u.journal, u.inBuffer = newJournal(), 0
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

// entry returns the entry of a record of the journal, and the attributes of the entry.
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
		e.ids = entryIDs(rec.span.IDs(), rec.kind, rec.queued)
	}
	return e, attrs
}

// notify gives the entry of a record to observers, and reports whether the caller has to call wake.
// u.mu is held, as in Register: an observer gets each entry once, from the buffer or from notify.
func (u *Unit) notify(rec *journalRecord, attrs []slog.Attr) (wake bool) {
	if rec.kind == kindNone || !u.watched(rec.kind) {
		return false
	}
	e, attrs := u.entry(rec, attrs)
	_, wake = u.root.insert(&e, attrs)
	return wake
}

// keep adds e and a copy of attrs to the buffer, if there is room. t.mu is held.
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

// keepOrCount adds e to the buffer of a unit, or counts e as BufferFull. u.mu is held.
func (u *Unit) keepOrCount(e *Entry, attrs []slog.Attr) {
	if !u.keep(e, attrs) {
		u.shard.bufferFull[e.kind].Add(1)
	}
}

// syncBuffer adds the journal's entries to the buffer, unless the unit has ended. t.mu is held.
func (t *Timeline) syncBuffer() {
	if !t.hasEnded() {
		t.fillBuffer()
	}
}

// fillBuffer adds the journal's entries to the buffer of a unit. t.mu is held.
func (t *Timeline) fillBuffer() {
	u := t.unit
	if u == nil || u.journal == nil {
		return
	}
	j := u.journal
	for ; int(u.inBuffer) < len(j.records); u.inBuffer++ {
		rec := &j.records[u.inBuffer]
		switch {
		case rec.kind == kindNone:
		case rec.gets == getsSpan && !u.ensureBuffer().room(rec.kind): // saves the call of Describe
			u.keepOrCount(&Entry{kind: rec.kind}, nil)
		default:
			e, attrs := u.entry(rec, j.attributes(rec))
			u.keepOrCount(&e, attrs)
		}
	}
}
