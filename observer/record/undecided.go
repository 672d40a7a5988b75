package record

import "time"

// An undecided unit is one whose tracing system decides at the end whether it keeps the unit. Its receiver gets nothing before
// that. The journal has up to 512 KiB. It cannot be handed over to make room, so it grows only while all units of its shard use
// less than half of the shard. The other half is for decided units. At a bound, an undecided unit keeps what came first, and
// counts the rest. A unit that is not kept costs no hand-over.

// The states of an undecided unit.
const (
	unitUndecided uint32 = iota
	unitDiscarded
	unitKept
	unitExported // kept, and the receiver exports it
)

// NewUndecidedUnit returns a unit as [Timeline.NewUnit] does, which has to be decided: by [Timeline.End] or by
// [Timeline.Discard]. Its marks count as lost only if it is kept. Flushes and
// sweeps leave it alone. After 15 minutes, the entries that it has are dropped, and count as refused.
func (t *Timeline) NewUndecidedUnit(start time.Time, r Receiver) *Timeline {
	u := t.NewUnit(start, r)
	u.tentative = true
	return u
}

// Undecided reports whether the unit was made by NewUndecidedUnit.
func (t *Timeline) Undecided() bool { return t.tentative }

// Discard ends an undecided unit with the span that is its root. The receiver gets nothing of it, now or later. Observers get
// its entries nevertheless. A nil root says that the unit has no journal yet.
func (t *Timeline) Discard(root Span) {
	t.decision.Store(unitDiscarded)
	t.closed.Store(true)
	t.disconnect()
	t.mu.Lock()
	t.dropBuffer()
	if root != nil {
		root.Marks().End()
	}
	t.drop()
}

// drop gives the journal back unread. t.mu is held, and released.
func (t *Timeline) drop() {
	j := t.journal
	if j == nil {
		t.mu.Unlock()
		return
	}
	t.journal, t.shown = nil, 0
	t.shard.count(j)
	if j.counted > 0 {
		t.shard.forget(t, j)
	}
	t.mu.Unlock()
	j.free()
}

// giveUp drops the entries of an undecided unit. t.mu is held, and released.
func (t *Timeline) giveUp() {
	if j := t.journal; j != nil {
		t.show() // the view keeps what the journal loses
		for i := range j.records {
			rec := &j.records[i]
			if rec.gets == getsMark && !rec.span.Marks().ended() {
				m := rec.span.Marks()
				m.last, m.count = 0, 0
			}
			t.refuse(rec)
		}
	}
	t.drop()
}

// refuse counts a record that an undecided unit does not keep. t.mu is held.
func (t *Timeline) refuse(rec *journalRecord) {
	switch rec.gets {
	case getsSpan, getsMeasure:
		t.refused++
	case getsMarkAlone:
		t.late--
	case getsMark:
		if m := rec.span.Marks(); !m.ended() { // else the span is missing, too
			m.dropped++
		}
	case getsNothing:
		return
	}
	t.shard.refused.Add(1)
}

// Export says that the unit, which is about to be kept, is exported as well. See [Timeline.Exported].
func (t *Timeline) Export() { t.decision.Store(unitExported) }

// Exported reports whether an undecided unit is exported as well.
func (t *Timeline) Exported() bool { return t.decision.Load() == unitExported }

// isKept reports whether an undecided unit is kept.
func (t *Timeline) isKept() bool { return t.decision.Load() >= unitKept }

// maxUndecidedSweeps is how many sweeps an undecided unit may wait for its end: 15 minutes.
const maxUndecidedSweeps = uint64(15 * time.Minute / sweepInterval)

// expire drops the entries of a unit that is undecided and has waited for too long, in the given sweep: its root may never end.
func (t *Timeline) expire(sweep uint64) {
	t.mu.Lock()
	if t.awaits() && t.expired(sweep) {
		t.giveUp()
	} else {
		t.mu.Unlock()
	}
}

// expired reports whether the unit came to the list too many sweeps before the given one.
func (t *Timeline) expired(sweep uint64) bool {
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	return t.place > 0 && t.since+maxUndecidedSweeps < sweep // since may be later than sweep
}

// awaits reports whether the unit is undecided still: the journal keeps everything until then. It does not become undecided again. t.mu
// is held, or the caller asks once more with it held.
func (t *Timeline) awaits() bool { return t.tentative && !t.closed.Load() }

// writeUndecided appends a record to the journal of a unit that is undecided still, unless there is no room. t.mu is held.
func (t *Timeline) writeUndecided(j *journal, rec *journalRecord, size int) (room bool) {
	if j.size+size <= maxJournalSize && t.shard.reserve(t, size) {
		return true
	}
	t.refuse(rec)
	if len(j.records) == 0 {
		t.journal = nil
		j.free()
	}
	return false
}

// Choose says that the program wants this unit kept. It has no effect after the unit's end, and on a process timeline.
func (t *Timeline) Choose() { t.chosen.Store(true) }

// Chosen reports whether the program wants the unit kept.
func (t *Timeline) Chosen() bool { return t.chosen.Load() }

// NoteFailure says that a span of the unit failed.
func (t *Timeline) NoteFailure() { t.failed.Store(true) }

// Failed reports whether a span of the unit failed.
func (t *Timeline) Failed() bool { return t.failed.Load() }
