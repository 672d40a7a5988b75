package observer

import "log/slog"

// keepEntry adds an entry to the unit's view, and shows it to observers. It copies the attributes, which are frozen.
func (t *Timeline) keepEntry(e *Entry, attrs []slog.Attr) {
	t.mu.Lock()
	if !t.closed.Load() && !t.note(e, attrs) {
		t.show()
		t.keep(e, attrs)
	}
	t.shard.recorded[e.kind].Add(1)
	w := wakeNone
	if t.watched(e.kind) {
		_, w = t.root.insert(t, e.ids, e.kind, e.name, e.start, e.duration, e.at, attrs, true)
	}
	t.mu.Unlock()
	if e.kind == kindMark && e.ids.Parent == (ID{}) {
		t.shard.unattached.Add(1)
	}
	t.root.wake(w)
}

// maxNoted is how many entries of a unit without a receiver wait in its journal, which costs less than the log.
const maxNoted = 64

// note puts an entry into the journal of a unit without a receiver. It returns false if the log has to take it: it has
// been read, or there are many entries. t.mu is held.
func (t *Timeline) note(e *Entry, attrs []slog.Attr) bool {
	if t.receiver != nil || t.log != nil || t.root.childLimit < maxNoted {
		return false
	}
	if t.journal == nil {
		t.journal, t.shown = newJournal(), 0
	}
	j := t.journal
	if len(j.records) == maxNoted {
		return false
	}
	j.ids = append(j.ids, e.ids)
	j.append(&journalRecord{
		name: e.name, start: e.start, duration: e.duration, at: e.at, kind: e.kind, counted: true, ids: int32(len(j.ids)),
	}, attrs)
	return true
}

// tell shows the entry of a record to observers. It does so while t.mu is held, as register does, so that an observer gets
// each entry once: from the buffer, or from here.
func (t *Timeline) tell(rec *journalRecord, attrs []slog.Attr) (w wake) {
	if rec.kind == kindNone || !t.watched(rec.kind) {
		return wakeNone
	}
	if rec.gets != getsSpan {
		_, w = t.root.insert(t, idsOf(rec.span, rec.kind), rec.kind, rec.name, rec.start, rec.duration, rec.at, attrs, true)
		return w
	}
	d := rec.span.Describe()
	start, duration := interval(t.origin, t.Since(d.Start), d.End.Sub(d.Start))
	if len(attrs) == 0 {
		attrs = d.Attrs
	}
	_, w = t.root.insert(t, rec.span.IDs(), rec.kind, d.Name, start, duration, start+duration, attrs, true)
	return w
}

// keep adds e to the log, with a copy of attrs. t.mu is held.
func (t *Timeline) keep(e *Entry, attrs []slog.Attr) {
	l := t.buffer()
	if !l.room(e.kind) {
		l.refuse(e.kind, e.name, e.start)
		t.shard.bufferFull[e.kind].Add(1)
		return
	}
	e.attrs = l.slab.keep(attrs)
	l.add(*e)
}

// show brings the log up to date, unless the unit has ended. t.mu is held.
func (t *Timeline) show() {
	if !t.closed.Load() {
		t.fillLog()
	}
}

// fillLog adds to the log what the journal has. t.mu is held.
func (t *Timeline) fillLog() {
	j := t.journal
	if j == nil {
		return
	}
	for ; t.shown < len(j.records); t.shown++ {
		rec := &j.records[t.shown]
		if rec.kind == kindNone {
			continue
		}
		e := Entry{
			name: rec.name, start: rec.start, duration: rec.duration, at: rec.at, base: t.origin, tl: t,
			kind: rec.kind,
		}
		if rec.gets == getsSpan && !t.buffer().room(rec.kind) {
			t.keep(&Entry{kind: rec.kind}, nil) // counts it
			continue
		}
		if rec.ids > 0 {
			e.ids = j.ids[rec.ids-1]
		} else {
			e.ids = idsOf(rec.span, rec.kind)
		}
		attrs := j.attributes(rec)
		if rec.gets == getsSpan {
			d := rec.span.Describe()
			e.name, e.ids = d.Name, rec.span.IDs()
			e.start, e.duration = interval(t.origin, t.Since(d.Start), d.End.Sub(d.Start))
			e.at = e.start + e.duration
			if len(attrs) == 0 {
				attrs = d.Attrs
			}
		}
		t.keep(&e, attrs)
	}
}
