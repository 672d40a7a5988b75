package record

import (
	"log/slog"
	"time"
)

// add appends a record to the journal, and hands over what is due. It reports false if there is no room, which it counts.
func (t *Timeline) add(rec *journalRecord, attrs []slog.Attr) bool {
	t.mu.Lock()
	switch rec.gets {
	case getsSpan:
		rec.span.Marks().End()
	case getsMark:
		if rec.span.Marks().ended() {
			t.addLate(rec)
		}
	default:
	}
	why, ok := causeNone, true
	if t.closed.Load() && (rec.gets == getsNothing || t.tentative && !t.isKept()) {
		t.shard.recorded[rec.kind].Add(1)
	} else {
		why, ok = t.write(rec, attrs)
	}
	wake := ok && t.tell(rec, attrs)
	if why == causeNone {
		t.mu.Unlock()
	} else {
		t.handOver(why)
	}
	if wake {
		t.root.wake()
	}
	return ok
}

// addLate decides about a mark that was made after the end of its span. t.mu is held.
func (t *Timeline) addLate(rec *journalRecord) {
	rec.gets = getsMarkAlone
	switch {
	case t.awaits(): // it is taken if the unit will be exported
		t.late++
		if t.receiver.TakesMarks() != NoMarks {
			return
		}
	case t.taken() != NoMarks:
		return
	case !t.tentative || t.isKept():
		t.shard.late.Add(1)
	}
	rec.gets = getsNothing
}

// taken says which marks the receiver takes by themselves. That does not change after the end of the unit.
func (t *Timeline) taken() MarksTaken {
	if t.receiver == nil || t.tentative && !t.Exported() {
		return NoMarks
	}
	return t.receiver.TakesMarks()
}

// write appends a record to the journal unless there is no room. It returns why the journal is to be handed over. t.mu is
// held.
func (t *Timeline) write(rec *journalRecord, attrs []slog.Attr) (why cause, ok bool) {
	j := t.journal
	if j == nil {
		j = newJournal()
		t.journal, t.shown = j, 0
	}
	size := rec.sizeWith(attrs)
	if t.awaits() {
		if t.writeUndecided(j, rec, size) {
			j.append(rec, attrs)
			j.recorded[rec.kind]++
			j.size += size
		} else { // observers get it nevertheless
			t.shard.recorded[rec.kind].Add(1)
		}
		return causeNone, true
	}
	finished := rec.gets == getsSpan || rec.gets == getsMeasure || rec.gets == getsMarkAlone
	atOnce := finished && t.closed.Load()
	full := finished && j.size+size >= maxJournalSize // it is handed over now
	room := atOnce || full || t.shard.reserve(t, size)
	if !room && rec.gets == getsMark && t.taken() == AllMarks { // only its span loses it
		rec.gets, finished = getsMarkAlone, true
		rec.span.Marks().dropped++
	}
	if !room && j.finished == 0 && t.overLimit(j, rec) {
		t.prune(j)
		room = t.shard.reserve(t, size)
	}
	if !room && !finished && j.finished == 0 { // nothing that a hand-over would make room of
		t.shard.overflow[rec.kind].Add(1)
		if len(j.records) == 0 {
			t.journal = nil
			j.free()
		}
		return causeNone, false
	}
	j.append(rec, attrs)
	j.recorded[rec.kind]++
	j.size += size
	switch {
	case atOnce:
		return causeEnd, true
	case !room:
		return causeCrowded, true
	case j.finished >= maxFinished || j.size >= maxJournalSize:
		return causeLong, true
	default:
		return causeNone, true
	}
}

// handOver gives what has finished to the receiver. Marks of spans that have not stay, unless they are abandoned. t.mu is
// held, and released.
func (t *Timeline) handOver(why cause) {
	j := t.journal
	if j == nil || j.finished == 0 && (why == causeOld || why == causeFlush) && !t.hasMarks(j) || why != causeEnd && t.awaits() {
		t.mu.Unlock()
		return
	}
	t.show() // the view keeps what the journal loses
	rest := t.keepMarks(j, why == causeAbandon)
	if j.finished == 0 && why == causeLong && rest != nil && !t.hasMarks(j) {
		t.replace(j, rest)
		t.mu.Unlock()
		return
	}
	t.journal, t.shown = rest, 0
	if rest != nil {
		t.shown = len(rest.records)
	}
	t.shard.count(j)
	if why == causeEnd && j.counted == 0 && rest == nil { // a late one, alone: Flush need not wait for it
		t.mu.Unlock()
		j.handOver(t, t.receiver)
		return
	}
	turn := t.shard.begin(t, j, why)
	t.mu.Unlock()
	defer t.shard.done(turn)
	j.handOver(t, t.receiver)
}

// hasMarks reports whether j has marks that the receiver takes by themselves, and has not had.
func (t *Timeline) hasMarks(j *journal) bool {
	return j.untaken > 0 && t.taken() == AllMarks
}

// handOver gives the journal of a unit to a receiver if there is anything for it, and then to the pool. t is nil for a span without
// a unit.
func (j *journal) handOver(t *Timeline, r Receiver) {
	if j.finished > 0 || t != nil && t.hasMarks(j) {
		j.part.journal = j
		if t != nil {
			j.part.unit, j.part.anchor = t, t.anchor(j.latest)
		}
		r.HandOver(&j.part)
	}
	j.free()
}

// maxAge is the age at which a unit's wall clock is not believed any more.
const maxAge = 10 * time.Second

// anchor returns the wall clock's time of the root's origin, for exported entries of t up to the time at.
func (t *Timeline) anchor(at time.Duration) time.Time {
	r := t.root
	if t.parent == nil {
		return r.wall(0)
	}
	if r.clock == nil && at-t.origin > maxAge {
		now := time.Now()
		return now.Add(-now.Sub(r.epoch))
	}
	return t.originTime.Add(-t.origin)
}

// keepMarks returns a journal with the marks in j of spans that have not finished, and nil without any. It drops what is over
// the limit of a span, and the oldest marks if they take more than half of a journal; or all of them. t.mu is held.
func (t *Timeline) keepMarks(j *journal, abandon bool) (rest *journal) {
	if t.receiver == nil {
		return nil
	}
	limit, lost := t.receiver.MarkLimit(), &t.shard.limited
	if abandon {
		limit, lost = 0, &t.shard.agedOut
	}
	size := 0
	for i := range j.records {
		rec := &j.records[i]
		if !rec.waits() {
			continue
		}
		size += rec.sizeWith(j.attributes(rec))
		m := rec.span.Marks()
		if m.last == 0 { // not the first one of its span
			continue
		}
		m.skip = 0
		if limit >= 0 {
			m.skip = max(0, m.count-int32(min(limit, maxJournalSize)))
		}
		m.last, m.count = 0, 0
	}
	if size == 0 {
		return nil
	}
	taken := t.taken() == AllMarks // each of them now, or before
	if taken {
		lost = &t.shard.onlyTaken
	}
	rest = newJournal()
	dropped := uint64(0)
	for i := range j.records {
		rec := &j.records[i]
		if !rec.waits() {
			continue
		}
		m, n := rec.span.Marks(), rec.sizeWith(j.attributes(rec))
		if m.skip > 0 || size > maxJournalSize/2 {
			m.skip = max(0, m.skip-1)
			m.dropped++
			dropped++
			size -= n
			continue
		}
		copied := *rec
		copied.taken = copied.taken || taken
		rest.append(&copied, j.attributes(rec))
		rest.size += n
	}
	if dropped > 0 {
		lost.Add(dropped)
	}
	if len(rest.records) == 0 {
		rest.free()
		return nil
	}
	return rest
}

// overLimit reports whether rec is a mark of a span whose limit will drop many of the marks in j. t.mu is held.
func (t *Timeline) overLimit(j *journal, rec *journalRecord) bool {
	limit := t.receiver.MarkLimit()
	return rec.gets == getsMark && limit >= 0 && int(rec.span.Marks().count) > limit+len(j.records)/16 // so that pruning is rare
}

// prune drops the marks over the limits of their spans from j, which has nothing that has finished. t.mu is held.
func (t *Timeline) prune(j *journal) {
	t.show() // the view keeps what the journal loses
	t.replace(j, t.keepMarks(j, false))
}

// replace gives j the records of rest, if there are any, in j's own storage: a stream of marks does not make a new one
// each time. t.mu is held.
func (t *Timeline) replace(j, rest *journal) {
	t.shard.count(j)
	clear(j.records)
	clear(j.attrs)
	j.records, j.attrs, j.size, j.untaken = j.records[:0], j.attrs[:0], 0, 0
	if rest != nil {
		j.records, j.attrs, j.size, j.untaken = append(j.records, rest.records...), append(j.attrs, rest.attrs...), rest.size, rest.untaken
		rest.free()
	}
	t.shown = len(j.records)
}

// waits reports whether a record is a mark of a span that has not finished.
func (rec *journalRecord) waits() bool { return rec.gets == getsMark && !rec.span.Marks().ended() }
