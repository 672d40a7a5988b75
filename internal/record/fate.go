package record

import (
	"slices"
	"time"
)

// The fate of a unit's journal. The tracing system decides at the end of an undecided unit whether
// to keep the unit. Until then the receiver gets nothing, and the journal, of up to 512 KiB, cannot
// be handed over to make room: all undecided units together may use half of the memory of units. At
// a bound, an undecided unit keeps the first records, and counts the further ones.
const (
	fateOpen      uint32 = iota // the receiver gets everything
	fateUndecided               // the end of the unit decides
	fateEnded                   // an open unit has ended: the receiver also gets late spans
	fateDiscarded               // an undecided unit has ended: the receiver gets nothing
	fateKept                    // an undecided unit has ended: the receiver gets everything
	fateExported                // as fateKept, and the receiver exports the unit
)

// hasEnded reports whether the unit has ended.
func (u *Unit) hasEnded() bool { return u.fate.Load() >= fateEnded }

// undecided reports whether the unit's end decides its fate. The journal keeps everything for that.
func (u *Unit) undecided() bool { return u.fate.Load() == fateUndecided }

// Tentative reports whether the unit is undecided, or was undecided until the unit's end. For an
// undecided unit, the tracing system decides at the unit's end whether the receiver receives the
// unit.
func (u *Unit) Tentative() bool {
	f := u.fate.Load()
	return f == fateUndecided || f >= fateDiscarded
}

// Discarded reports whether [Unit.Discard] ended the unit.
func (u *Unit) Discarded() bool { return u.fate.Load() == fateDiscarded }

// Exported reports whether [Unit.Export] ended the unit.
func (u *Unit) Exported() bool { return u.fate.Load() == fateExported }

// End ends the unit, and passes the root span to the receiver. The timeline records no entry for
// the root span. The receiver receives all records of the unit within 100 ms, even if the unit was
// undecided.
func (u *Unit) End(root Span) {
	u.close(fateEnded, fateKept)
	u.finish(root)
}

// Export ends an undecided unit in the same way as End, and marks the unit for export.
// [Unit.Exported] then returns true, so the receiver exports the unit.
func (u *Unit) Export(root Span) {
	u.close(fateExported, fateExported)
	u.finish(root)
}

// Discard ends an undecided unit, and passes nothing to the receiver. Observers still receive the
// unit's entries. root is the unit's root span.
func (u *Unit) Discard(root Span) {
	u.close(fateDiscarded, fateDiscarded)
	u.dropBuffer()
	u.late, u.orphans = 0, 0 // the marks of a discarded unit do not count as lost
	m := root.Marks()
	m.last, m.count = 0, 0 // the marks go with the journal
	m.End()
	u.freeMirror()
	u.drop()
}

// Close ends a unit that has no root span. Close delivers the unit's entries, disconnects the
// unit's observers and empties the unit's buffer. Goroutines may record further entries after
// Close. The tracing system and the observers of the parent timelines still receive these entries.
func (u *Unit) Close() { u.End(nil) }

// close gives an open unit one fate, and an undecided unit another. A unit that has ended keeps its
// fate. close returns with u.mu locked: a goroutine that holds u.mu sees one fate.
func (u *Unit) close(open, undecided uint32) {
	u.mu.Lock()
	switch u.fate.Load() {
	case fateOpen:
		u.fate.Store(open)
	case fateUndecided:
		u.fate.Store(undecided)
	default:
		return
	}
	if u.wants.Load() != 0 { // Register looks at the fate again when it has set wants
		u.mu.Unlock()
		u.disconnect()
		u.mu.Lock()
	}
}

// finish hands over the journal and the root of a unit that has ended. finish unlocks u.mu.
func (u *Unit) finish(root Span) {
	u.dropBuffer()
	if u.late+u.orphans > 0 && u.takes() == NoMarks {
		u.shard.marksAfterEnd.Add(uint64(u.late))
		u.shard.refused.Add(uint64(u.orphans))
	}
	u.late, u.orphans = 0, 0
	if root != nil {
		root.Marks().End()
		u.write(&journalRecord{span: root, gets: getsSpan, size: recordSize(root.Size())}, nil)
	}
	u.handOver(causeEnd)
}

// disconnect unregisters the unit's own observers. Their buffers are still delivered.
func (u *Unit) disconnect() {
	r := u.root
	r.lock()
	defer r.unlock()
	for _, o := range slices.Clone(u.observerList()) {
		o.countDropped()
		o.unregister()
	}
}

// drop discards the journal and unlocks u.mu.
func (u *Unit) drop() {
	if j := u.journal; j != nil {
		u.journal, u.inBuffer = nil, 0
		u.release(j)
	}
	u.mu.Unlock()
}

// release recycles j, a former journal of u that the receiver does not get. u.mu is held.
func (u *Unit) release(j *journal) {
	h := u.shard
	h.count(j)
	split(u, j)
	h.giveBack(j)
	h.mu.Lock()
	h.relist(u)
	h.mu.Unlock()
	j.free()
}

// giveUp drops the entries of an undecided unit and unlocks u.mu.
func (u *Unit) giveUp() {
	if j := u.journal; j != nil {
		u.syncBuffer() // the last chance to copy the entries
		for i := range j.records {
			rec := &j.records[i]
			if rec.gets == getsMark && !rec.span.Marks().ended() {
				m := rec.span.Marks()
				m.last, m.count = 0, 0
			}
			u.refuse(rec)
		}
	}
	u.drop()
}

// refuse counts a record that an undecided unit cannot keep. u.mu is held.
func (u *Unit) refuse(rec *journalRecord) {
	switch rec.gets {
	case getsSpan, getsMeasure:
		u.refused++
	case getsMarkAlone:
		if u.orphans > 0 {
			u.orphans--
		} else {
			u.late--
		}
	case getsMark:
		if m := rec.span.Marks(); !m.ended() { // an ended span is missing itself
			m.dropped++
		}
	case getsNothing:
		return
	}
	u.shard.refused.Add(1)
}

// refuseMarks counts the marks in the journal of a refused span. A receiver of AllMarks gets the
// marks if the unit is exported; otherwise the end of the unit counts them. u.mu is held.
func (u *Unit) refuseMarks(m *SpanMarks) {
	j := u.journal
	for at := m.last; at > 0; {
		rec := &j.records[at-1]
		at = rec.previous
		if u.receiver.TakesMarks() == AllMarks {
			rec.gets = getsMarkAlone
			j.finished++
			u.orphans++
		} else {
			rec.gets = getsNothing
			u.shard.refused.Add(1)
		}
		if !rec.taken {
			j.untaken--
		}
	}
	m.last, m.count = 0, 0
}

// maxUndecidedSweeps is the number of sweeps that an undecided unit survives: 15 minutes.
const maxUndecidedSweeps = uint32(15 * time.Minute / sweepInterval)

// expire drops the entries of a unit that has been undecided for too long: its root may never end.
func (u *Unit) expire(sweep uint32) {
	u.mu.Lock()
	u.shard.mu.Lock()
	old := u.place > 0 && u.sweep+maxUndecidedSweeps < sweep // u.sweep may be larger than sweep
	u.shard.mu.Unlock()
	if old && u.undecided() {
		u.giveUp()
	} else {
		u.mu.Unlock()
	}
}

// writeUndecided reserves room for a record, or counts the record as refused. u.mu is held.
func (u *Unit) writeUndecided(j *journal, rec *journalRecord, size int) (room bool) {
	if j.size+size <= maxJournalSize && u.shard.reserve(u, size) {
		return true
	}
	if u.refuse(rec); rec.gets == getsSpan {
		u.refuseMarks(rec.span.Marks())
	}
	u.dropIfEmpty(j)
	return false
}

// dropIfEmpty releases a journal without records. u.mu is held.
func (u *Unit) dropIfEmpty(j *journal) {
	if len(j.records) == 0 {
		u.journal = nil
		u.release(j)
	}
}
