package record

import (
	"slices"
	"time"
)

// The fate of a unit's journal. The tracing system decides at the end of an undecided unit whether
// it keeps the unit. The receiver gets nothing before that. The journal, of up to 512 KiB, cannot
// be handed over to make room, so all undecided units have at most half of the memory of units. At
// a bound, an undecided unit keeps what came first, and counts the rest.
const (
	fateOpen      uint32 = iota // the receiver gets everything
	fateUndecided               // the end decides
	// a unit that was open has ended: the receiver gets what finishes late, too
	fateEnded
	fateDiscarded // an undecided unit has ended, and the receiver gets nothing of it
	fateKept      // it has ended, and the receiver gets everything
	fateExported  // the same, and the receiver exports it
)

// hasEnded reports whether the unit has ended. It does not begin again.
func (u *Unit) hasEnded() bool { return u.fate.Load() >= fateEnded }

// awaits reports whether the unit is undecided still: the journal keeps everything until then.
func (u *Unit) awaits() bool { return u.fate.Load() == fateUndecided }

// Tentative reports whether the unit is, or was, undecided.
func (u *Unit) Tentative() bool {
	f := u.fate.Load()
	return f == fateUndecided || f >= fateDiscarded
}

// Discarded reports whether an undecided unit has ended and is not kept.
func (u *Unit) Discarded() bool { return u.fate.Load() == fateDiscarded }

// Exported reports whether an undecided unit is exported as well.
func (u *Unit) Exported() bool { return u.fate.Load() == fateExported }

// End ends a unit with the span that is its root. The receiver gets everything, within 100 ms. The
// root has no entry.
func (u *Unit) End(root Span) {
	u.close(fateEnded, fateKept)
	u.finish(root)
}

// Export ends an undecided unit as End does, and says that the receiver exports the unit. See
// [Unit.Exported].
func (u *Unit) Export(root Span) {
	u.close(fateExported, fateExported)
	u.finish(root)
}

// Discard ends an undecided unit with the span that is its root. The receiver gets nothing of the
// unit; observers get its entries.
func (u *Unit) Discard(root Span) {
	u.close(fateDiscarded, fateDiscarded)
	u.dropBuffer()
	u.late, u.orphans = 0, 0 // nothing of the unit is counted
	m := root.Marks()
	m.last, m.count = 0, 0 // they go with the journal
	m.End()
	u.drop()
}

// Close ends a unit that has no root: its entries are delivered, its observers disconnected, and
// its buffer is emptied. A later entry, of a goroutine that outlives the request, still reaches the
// observers of its parents and the tracing system.
func (u *Unit) Close() { u.End(nil) }

// close gives an open unit one fate, and an undecided one another. A unit that has ended keeps its
// fate. It leaves the timeline's mu locked: fates change with mu held, so that a goroutine that
// holds it sees one fate.
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

// finish hands over what a unit that has got its last fate has, and its root. mu is held, and
// released.
func (u *Unit) finish(root Span) {
	u.dropBuffer()
	if u.late+u.orphans > 0 && u.takes() == NoMarks {
		u.shard.late.Add(uint64(u.late))
		u.shard.refused.Add(uint64(u.orphans))
	}
	u.late, u.orphans = 0, 0
	if root != nil {
		root.Marks().End()
		u.write(&journalRecord{span: root, gets: getsSpan, size: recordSize(root.Size())}, nil)
	}
	u.handOver(causeEnd)
}

// disconnect delivers what the unit's own observers have, and unregisters them.
func (u *Unit) disconnect() {
	r := u.root
	r.lock()
	defer r.unlock()
	for _, o := range slices.Clone(u.registered()) {
		o.countDropped()
		o.unregister() // what it has buffered is still delivered
	}
}

// drop gives the journal back unread. mu is held, and released.
func (u *Unit) drop() {
	if j := u.journal; j != nil {
		u.journal, u.shown = nil, 0
		u.release(j)
	}
	u.mu.Unlock()
}

// release gives back j, which was the journal of u, and of which the receiver gets nothing. mu is
// held.
func (u *Unit) release(j *journal) {
	u.shard.count(j)
	u.shard.forget(u, j)
	j.free()
}

// giveUp drops the entries of an undecided unit. mu is held, and released.
func (u *Unit) giveUp() {
	if j := u.journal; j != nil {
		u.show() // the view keeps what the journal loses
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

// refuse counts a record that an undecided unit does not keep. mu is held.
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
		if m := rec.span.Marks(); !m.ended() { // else the span is missing, too
			m.dropped++
		}
	case getsNothing:
		return
	}
	u.shard.refused.Add(1)
}

// refuseMarks counts the marks in the journal of a span that is refused. A receiver of AllMarks
// gets them if the unit is exported; else the end of the unit counts them. mu is held.
func (u *Unit) refuseMarks(m *SpanMarks) {
	j := u.journal
	for at := m.last; at > 0; {
		rec := &j.records[at-1]
		at = rec.before
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

// maxUndecidedSweeps is how many sweeps an undecided unit may wait for its end: 15 minutes.
const maxUndecidedSweeps = uint32(15 * time.Minute / sweepInterval)

// expire drops the entries of a unit that is undecided and has waited for too long, in the given
// sweep: its root may never end.
func (u *Unit) expire(sweep uint32) {
	u.mu.Lock()
	u.shard.mu.Lock()
	old := u.place > 0 && u.sweep+maxUndecidedSweeps < sweep // the unit may be later than the sweep
	u.shard.mu.Unlock()
	if old && u.awaits() {
		u.giveUp()
	} else {
		u.mu.Unlock()
	}
}

// writeUndecided appends a record to the journal of a unit that is undecided still, unless there is
// no room. mu is held.
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

// dropIfEmpty gives a journal without records back. mu is held.
func (u *Unit) dropIfEmpty(j *journal) {
	if len(j.records) == 0 {
		u.journal = nil
		u.release(j)
	}
}
