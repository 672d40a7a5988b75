package record

import (
	"log/slog"
	"time"
)

// What becomes of a mark under a span of a unit. Each mark is in one place, and what is lost is in
// one count of UnitStats, unless the unit is discarded: then nothing is counted.
//
//	the span is          room   the receiver takes   the mark
//	open                 yes                         waits for the end of its span: see the next table
//	open                 no     AllMarks             by itself; its span has it not (MarksOnlyTaken is not counted: the span counts it as dropped)
//	open                 no     others               is lost: MarksDropped; Refused while the unit is undecided
//	ended                       LateMarks, AllMarks  by itself
//	ended                       NoMarks              is lost: MarksAfterEnd
//
// A mark that waits for the end of its span becomes a mark of the span: the receiver makes an event
// of it. With AllMarks, the receiver gets it by itself, too. It does not reach the span in these
// cases:
//
//	the span has more marks than Receiver.MarkLimit, or they take half of a journal   MarksOverLimit
//	the span has not ended when the receiver abandons its units, or units are crowded MarksOfOpenSpans
//	an undecided unit has no room for the span, or has waited for 15 minutes          Refused
//
// With AllMarks, the receiver has had such a mark by itself: then MarksOnlyTaken counts it in place
// of the first two.
//
// An undecided unit takes late marks as if it were exported. If the unit is kept and not exported,
// they count as MarksAfterEnd at its end. The functions addLate, write, keepMarks and refuseMarks
// decide.

// add appends a record to the journal, and hands over what is due. It reports false if there is no
// room, which the caller counts.
func (u *Unit) add(rec *journalRecord, attrs []slog.Attr) bool {
	u.mu.Lock()
	late := false
	switch rec.gets {
	case getsSpan:
		rec.span.Marks().End()
	case getsMark:
		if late = rec.span.Marks().ended(); late {
			u.addLate(rec)
		}
	default:
	}
	why, room := causeNone, true
	if f := u.fate.Load(); f == fateDiscarded || f >= fateEnded && rec.gets == getsNothing {
		u.shard.recorded[rec.kind].Add(1)
	} else {
		why, room = u.write(rec, attrs)
	}
	wake := room && u.tell(rec, attrs)
	if why == causeNone {
		u.mu.Unlock()
	} else {
		u.handOver(why)
	}
	if wake {
		u.root.wake()
	}
	return room || late // which is counted
}

// addUsual is add for nearly each mark and measure: the unit and the span have not ended, the
// journal has room at hand, nobody watches. It makes the record where it stays, which saves an
// eighth of a mark's time. In all other cases it adds nothing, and returns false.
func (u *Unit) addUsual(p *Place, k kind, gets gets, name string, start, duration, at time.Duration,
	attrs []slog.Attr) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	j := u.journal
	if j == nil || len(j.records) == cap(j.records) || p.queued || u.hasEnded() || u.watched(k) {
		return false
	}
	size := recordRoom + p.contents + len(name) + len(attrs)*attrSize
	if j.size+size > min(j.counted, maxJournalSize-1) || j.finished >= maxFinished-1 {
		return false
	}
	n, before := len(j.records), int32(0)
	if gets == getsMark {
		m := p.Span.Marks()
		if m.ended() {
			return false
		}
		before = m.last
		m.last = int32(n + 1)
		m.count++
		j.untaken++
	} else {
		j.finished++
	}
	j.records = j.records[:n+1]
	rec := &j.records[n]
	rec.name, rec.span, rec.start, rec.duration, rec.at, rec.kind, rec.gets = name, p.Span, start,
		duration, at, k, gets
	rec.size, rec.before, rec.attrs, rec.nattrs = int32(p.contents), before, uint32(len(j.attrs)),
		uint32(len(attrs))
	j.attrs = append(j.attrs, attrs...)
	j.latest = max(j.latest, at)
	j.recorded[k]++
	j.size += size
	return true
}

// addLate decides about a mark that was made after the end of its span. mu is held.
func (u *Unit) addLate(rec *journalRecord) {
	rec.gets = getsMarkAlone
	switch {
	case u.awaits(): // it is taken if the unit will be exported
		u.late++
		if u.receiver.TakesMarks() != NoMarks {
			return
		}
	case u.takes() != NoMarks:
		return
	case u.fate.Load() != fateDiscarded:
		u.shard.late.Add(1)
	}
	rec.gets = getsNothing
}

// takes says which marks the receiver takes by themselves. That does not change after the end of
// the unit.
func (u *Unit) takes() MarksTaken {
	if u.receiver == nil || u.Tentative() && !u.Exported() {
		return NoMarks
	}
	return u.receiver.TakesMarks()
}

// write appends a record to the journal unless there is no room. It returns why the journal is to
// be handed over. u.mu is held.
func (u *Unit) write(rec *journalRecord, attrs []slog.Attr) (why cause, ok bool) {
	j := u.journal
	if j == nil {
		j = newJournal()
		u.journal, u.shown = j, 0
	}
	size := rec.sizeWith(attrs)
	if u.awaits() {
		if u.writeUndecided(j, rec, size) {
			j.append(rec, attrs)
			j.recorded[rec.kind]++
			j.size += size
		} else { // observers get it nevertheless
			u.shard.recorded[rec.kind].Add(1)
		}
		return causeNone, true
	}
	finished := rec.gets == getsSpan || rec.gets == getsMeasure || rec.gets == getsMarkAlone
	atOnce := finished && u.hasEnded()
	full := finished && j.size+size >= maxJournalSize // it is handed over now
	room := atOnce || full || u.shard.reserve(u, size)
	if !room && rec.gets == getsMark && u.takes() == AllMarks { // only its span loses it
		rec.gets, finished = getsMarkAlone, true
		rec.span.Marks().dropped++
	}
	if !room && j.finished == 0 && u.overLimit(j, rec) {
		u.show() // the view keeps what the journal loses
		u.replace(j, u.keepMarks(j, false))
		room = u.shard.reserve(u, size)
	}
	if !room && !finished && j.finished == 0 { // nothing that a hand-over would make room of
		u.shard.overflow[rec.kind].Add(1)
		if rec.gets == getsMark {
			rec.span.Marks().dropped++
		}
		u.dropIfEmpty(j)
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

// handOver gives what has finished to the receiver: at once, or soon if the unit has ended. Marks
// of spans that have not finished stay, unless they are abandoned. A unit that is being discarded
// hands over nothing. mu is held, and released.
func (u *Unit) handOver(why cause) {
	j := u.journal
	if j == nil || j.finished == 0 && (why == causeOld || why == causeFlush) && !u.hasMarks(j) ||
		why != causeEnd && (u.awaits() || u.Discarded()) {
		u.mu.Unlock()
		return
	}
	u.show() // the view keeps what the journal loses
	rest := u.keepMarks(j, why == causeAbandon)
	if j.finished == 0 && why == causeLong && rest != nil && !u.hasMarks(j) {
		u.replace(j, rest)
		u.mu.Unlock()
		return
	}
	u.journal, u.shown = rest, 0
	if rest != nil {
		u.shown = int32(len(rest.records))
	}
	j.part = Finished{journal: j, unit: u, receiver: u.receiver, anchor: u.anchor(j.latest)}
	h := u.shard
	if j.finished == 0 && !u.hasMarks(j) { // nothing that the receiver gets
		u.release(j)
		u.mu.Unlock()
		return
	}
	if why == causeEnd {
		waiting, room := h.retire(u, j)
		u.mu.Unlock()
		h.urge(waiting, room)
		return
	}
	turn := h.begin(u, j, why)
	u.mu.Unlock()
	defer h.done(turn)
	j.part.shard = h
	handOver([]*Finished{&j.part})
}

// hasMarks reports whether j has marks that the receiver takes by themselves, and has not had.
func (u *Unit) hasMarks(j *journal) bool {
	return j.untaken > 0 && u.takes() == AllMarks
}

// anchor returns the wall clock's time of the root's origin, for exported entries of t up to the
// time at.
func (t *Timeline) anchor(at time.Duration) time.Time {
	const maxAge = 10 * time.Second // of a unit; later, the wall clock may have been stepped
	if r := t.root; t.unit != nil && r.clock == nil && at-t.origin > maxAge {
		now := time.Now()
		return now.Add(-now.Sub(r.epoch))
	}
	return t.wall(0)
}

// keepMarks returns a journal with the marks in j of spans that have not finished, and nil without
// any. It drops marks over the limit of their span, and the oldest marks if they take more than
// half of a journal. If abandon is true, it drops all. u.mu is held.
func (u *Unit) keepMarks(j *journal, abandon bool) (rest *journal) {
	if u.receiver == nil {
		return nil
	}
	limit, lost := u.receiver.MarkLimit(), &u.shard.limited
	if abandon {
		limit, lost = 0, &u.shard.agedOut
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
	taken := u.takes() == AllMarks // each of them now, or before
	if taken {
		lost = &u.shard.onlyTaken
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

// overLimit reports whether rec is a mark of a span whose limit will drop many of the marks in j.
// u.mu is held.
func (u *Unit) overLimit(j *journal, rec *journalRecord) bool {
	limit := u.receiver.MarkLimit()
	// so that pruning is rare
	return rec.gets == getsMark && limit >= 0 &&
		int(rec.span.Marks().count) > limit+len(j.records)/16
}

// replace gives j the records of rest, if there are any, in j's own storage, which a stream of
// marks reuses. u.mu is held.
func (u *Unit) replace(j, rest *journal) {
	u.shard.count(j)
	clear(j.records)
	clear(j.attrs)
	j.records, j.attrs, j.size, j.untaken = j.records[:0], j.attrs[:0], 0, 0
	if rest != nil {
		j.records, j.attrs, j.size, j.untaken = append(j.records, rest.records...),
			append(j.attrs, rest.attrs...), rest.size, rest.untaken
		rest.free()
	}
	u.shown = int32(len(j.records))
}

// waits reports whether a record is a mark of a span that has not finished.
func (rec *journalRecord) waits() bool { return rec.gets == getsMark && !rec.span.Marks().ended() }
