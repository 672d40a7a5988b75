package record

import "log/slog"

// put records an entry that no receiver gets, with a copy of attrs, which are frozen. It reports false if there is no room.
func (t *Timeline) put(e *Entry, attrs []slog.Attr) bool {
	if t.parent == nil {
		ok, wake := t.root.insert(e, attrs)
		if wake {
			t.root.wake()
		}
		return ok
	}
	t.mu.Lock()
	if !t.closed.Load() && !t.note(e, attrs) {
		t.show()
		t.keepOrCount(e, attrs)
	}
	t.shard.recorded[e.kind].Add(1)
	wake := false
	if t.watched(e.kind) {
		_, wake = t.root.insert(e, attrs)
	}
	t.mu.Unlock()
	if e.kind == kindMark && e.ids.Parent == (ID{}) {
		t.shard.unattached.Add(1)
	}
	if wake {
		t.root.wake()
	}
	return true
}

// Bounds of the entries of a unit without a receiver that wait in its journal, which costs less than the buffer.
const (
	maxNoted     = 64
	maxNotedSize = 16 << 10 // bytes
)

// note puts an entry into the journal of a unit without a receiver. It returns false if the buffer has to take it: it has
// been read, or there are many entries. t.mu is held.
func (t *Timeline) note(e *Entry, attrs []slog.Attr) bool {
	if t.receiver != nil || t.buffer != nil || t.root.childLimit < maxNoted {
		return false
	}
	if t.journal == nil {
		t.journal, t.shown = newJournal(), 0
	}
	j := t.journal
	rec := &journalRecord{name: e.name, start: e.start, duration: e.duration, at: e.at, kind: e.kind, size: recordSize(Contents(attrs))}
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
func (t *Timeline) entry(rec *journalRecord, attrs []slog.Attr) (Entry, []slog.Attr) {
	e := Entry{name: rec.name, start: rec.start, duration: rec.duration, at: rec.at, base: t.origin, tl: t, kind: rec.kind}
	switch {
	case rec.gets == getsSpan:
		d := rec.span.Describe()
		e.name, e.ids = d.Name, rec.span.IDs()
		e.start, e.duration = interval(t.origin, t.Since(d.Start), d.End.Sub(d.Start))
		e.at = e.start + e.duration
		if len(attrs) == 0 {
			attrs = d.Attrs
		}
	case rec.ids > 0:
		e.ids = t.journal.ids[rec.ids-1]
	default:
		e.ids = idsOf(rec.span, rec.kind, rec.queued)
	}
	return e, attrs
}

// tell shows the entry of a record to observers. It does so while t.mu is held, as register does, so that an observer gets
// each entry once: from the buffer, or from here. It reports whether the caller has to call wake.
func (t *Timeline) tell(rec *journalRecord, attrs []slog.Attr) (wake bool) {
	if rec.kind == kindNone || !t.watched(rec.kind) {
		return false
	}
	e, attrs := t.entry(rec, attrs)
	_, wake = t.root.insert(&e, attrs)
	return wake
}

// keep adds e to the buffer, with a copy of attrs in place of its attributes. It reports false if there is no room. t.mu is
// held.
func (t *Timeline) keep(e *Entry, attrs []slog.Attr) bool {
	b := t.ensureBuffer()
	if !b.room(e.kind) || !b.reserve(entrySize+len(e.name)+len(attrs)*attrSize+Contents(attrs)) {
		b.refuse(e.kind, e.name, e.start)
		return false
	}
	e.attrs = b.slab.keep(attrs)
	b.add(e)
	return true
}

// keepOrCount adds e to the buffer of a unit, or counts it as BufferFull. t.mu is held.
func (t *Timeline) keepOrCount(e *Entry, attrs []slog.Attr) {
	if !t.keep(e, attrs) {
		t.shard.bufferFull[e.kind].Add(1)
	}
}

// show brings the buffer up to date, unless the unit has ended. t.mu is held.
func (t *Timeline) show() {
	if !t.closed.Load() {
		t.fillBuffer()
	}
}

// fillBuffer adds to the buffer what the journal has. t.mu is held.
func (t *Timeline) fillBuffer() {
	j := t.journal
	if j == nil {
		return
	}
	for ; t.shown < len(j.records); t.shown++ {
		rec := &j.records[t.shown]
		switch {
		case rec.kind == kindNone:
		case rec.gets == getsSpan && !t.ensureBuffer().room(rec.kind): // not described in vain
			t.keepOrCount(&Entry{kind: rec.kind}, nil)
		default:
			e, attrs := t.entry(rec, j.attributes(rec))
			t.keepOrCount(&e, attrs)
		}
	}
}
