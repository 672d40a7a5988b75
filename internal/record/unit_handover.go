package record

import (
	"log/slog"
	"time"
)

// The delivery of marks under a span of a unit. Each mark reaches one place, and each lost mark has
// one count in UnitStats. A discarded unit counts nothing.
//
//	the span is  room  the receiver takes    the mark
//	open         yes                         waits for the end of its span: see the next table
//	open         no    AllMarks              by itself; the span counts it as dropped
//	open         no    NoMarks, LateMarks    is lost: MarksDropped; Refused in an undecided unit
//	ended              LateMarks, AllMarks   by itself
//	ended              NoMarks               is lost: MarksAfterEnd
//
// A mark that waits for the end of its span becomes an event of the span. With AllMarks, the
// receiver also gets the mark by itself. The span loses the mark in these cases:
//
//	the span has more marks than MarkLimit, or they take half of a journal       MarksOverLimit
//	the span is open when its unit is abandoned, or when units are crowded       MarksOfOpenSpans
//	an undecided unit has no room for the span, or has waited for 15 minutes     Refused
//
// With AllMarks, MarksOnlyTaken counts such a mark in place of the first two counts.
//
// An undecided unit takes late marks as if the unit were exported. If the unit is kept and not
// exported, its end counts the late marks as MarksAfterEnd. See addLate, write, keepMarks and
// refuseMarks.

// add appends a record to the journal, and hands over a full journal. add returns false if there is
// no room: the caller counts the entry.
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
	switch {
	case u.mirror == nil:
	case rec.gets == getsSpan:
		if s, ok := rec.span.(Mirrored); ok {
			s.Mirror(u, u.mirror)
		}
	default:
		u.mirrorUnder(rec.kind, rec.gets, rec.span, rec.name, rec.start, rec.duration, attrs)
	}
	wake := room && u.notify(rec, attrs)
	if why == causeNone {
		u.mu.Unlock()
	} else {
		u.handOver(why)
	}
	if wake {
		u.root.wake()
	}
	return room || late // late marks are counted
}

// addUsual is add for the usual mark or measure: the unit and the span are open, the journal has
// room, and no observer watches. addUsual fills the record in place, which saves an eighth of a
// mark's time. In all other cases addUsual changes nothing, and returns false.
func (u *Unit) addUsual(p *Place, k kind, gets delivery, name string, start, duration,
	at time.Duration, attrs []slog.Attr) bool {
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
	rec.size, rec.previous, rec.attrs, rec.nattrs = int32(p.contents), before, uint32(len(j.attrs)),
		uint32(len(attrs))
	j.attrs = append(j.attrs, attrs...)
	j.latest = max(j.latest, at)
	j.recorded[k]++
	j.size += size
	if u.mirror != nil {
		u.mirrorUnder(k, gets, p.Span, name, start, duration, attrs)
	}
	return true
}

// addLate chooses the delivery of a mark after the end of its span. u.mu is held.
func (u *Unit) addLate(rec *journalRecord) {
	rec.gets = getsMarkAlone
	switch {
	case u.undecided(): // the receiver gets the mark if the unit is exported
		u.late++
		if u.receiver.TakesMarks() != NoMarks {
			return
		}
	case u.takes() != NoMarks:
		return
	case u.fate.Load() != fateDiscarded:
		u.shard.marksAfterEnd.Add(1)
	}
	rec.gets = getsNothing
}

// takes returns the marks that the receiver takes by themselves. The unit's end is the last change.
func (u *Unit) takes() MarksTaken {
	if u.receiver == nil || u.Tentative() && !u.Exported() {
		return NoMarks
	}
	return u.receiver.TakesMarks()
}

// write appends a record if there is room. write returns the cause of a due hand-over. u.mu is
// held.
func (u *Unit) write(rec *journalRecord, attrs []slog.Attr) (why cause, ok bool) {
	j := u.journal
	if j == nil {
		j = newJournal()
		u.journal, u.inBuffer = j, 0
	}
	size := rec.sizeWith(attrs)
	if u.undecided() {
		if u.writeUndecided(j, rec, size) {
			j.append(rec, attrs)
			j.recorded[rec.kind]++
			j.size += size
		} else { // observers get the entry in any case
			u.shard.recorded[rec.kind].Add(1)
		}
		return causeNone, true
	}
	finished := rec.gets == getsSpan || rec.gets == getsMeasure || rec.gets == getsMarkAlone
	atOnce := finished && u.hasEnded()
	full := finished && j.size+size >= maxJournalSize // a hand-over is due
	room := atOnce || full || u.shard.reserve(u, size)
	if !room && rec.gets == getsMark && u.takes() == AllMarks { // only the span loses the mark
		rec.gets, finished = getsMarkAlone, true
		rec.span.Marks().dropped++
	}
	if !room && j.finished == 0 && u.overLimit(j, rec) {
		u.syncBuffer() // the last chance to copy the entries
		u.replace(j, u.keepMarks(j, false))
		room = u.shard.reserve(u, size)
	}
	if !room && !finished && j.finished == 0 { // a hand-over would make no room
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

// handOver gives finished records to the receiver: at once, or within maxDelay if the unit has
// ended. Marks of open spans stay, unless why is causeAbandon. A discarded unit hands over nothing.
// handOver unlocks u.mu.
func (u *Unit) handOver(why cause) {
	j := u.journal
	if j == nil || j.finished == 0 && (why == causeOld || why == causeFlush) && !u.hasMarks(j) ||
		why != causeEnd && (u.undecided() || u.Discarded()) {
		if why == causeEnd {
			u.freeMirror()
		}
		u.mu.Unlock()
		return
	}
	u.syncBuffer() // the last chance to copy the entries
	rest := u.keepMarks(j, why == causeAbandon)
	if j.finished == 0 && why == causeLong && rest != nil && !u.hasMarks(j) {
		u.replace(j, rest)
		u.mu.Unlock()
		return
	}
	u.journal, u.inBuffer = rest, 0
	if rest != nil {
		u.inBuffer = int32(len(rest.records))
	}
	j.part = Finished{journal: j, unit: u, receiver: u.receiver, open: !u.hasEnded(),
		anchor: u.anchor(j.latest)}
	if u.mirror != nil {
		j.part.mirrored, j.part.written = true, u.mirror.Written()
	}
	h := u.shard
	if j.finished == 0 && !u.hasMarks(j) { // nothing for the receiver
		if why == causeEnd {
			u.freeMirror()
		}
		u.release(j)
		u.mu.Unlock()
		return
	}
	if why == causeEnd {
		waiting, canWait := h.retire(u, j)
		u.mu.Unlock()
		h.urge(waiting, canWait)
		return
	}
	turn := h.begin(u, j, why)
	u.mu.Unlock()
	defer h.done(turn)
	j.part.shard = h
	handOver([]*Finished{&j.part})
}

// hasMarks reports whether j has marks that the receiver has yet to take by themselves.
func (u *Unit) hasMarks(j *journal) bool { return j.untaken > 0 && u.takes() == AllMarks }

// anchor returns the wall-clock time of the root's origin, for exported entries up to the time at.
func (t *Timeline) anchor(at time.Duration) time.Time {
	const maxAge = 10 * time.Second // of a unit; after that, a step of the wall clock counts
	if r := t.root; t.unit != nil && r.clock == nil && at-t.origin > maxAge {
		now := time.Now()
		return now.Add(-now.Sub(r.epoch))
	}
	return t.wall(0)
}

// keepMarks returns a journal with j's marks of open spans, or nil without such marks. keepMarks
// drops marks over the limit of their span, and the oldest marks if the marks take more than half
// of a journal. With abandon, it drops all. u.mu is held.
func (u *Unit) keepMarks(j *journal, abandon bool) (rest *journal) {
	if u.receiver == nil {
		return nil
	}
	limit, lost := u.receiver.MarkLimit(), &u.shard.marksOverLimit
	if abandon {
		limit, lost = 0, &u.shard.marksOfOpenSpans
	}
	size := 0
	for i := range j.records {
		rec := &j.records[i]
		if !rec.waits() {
			continue
		}
		size += rec.sizeWith(j.attributes(rec))
		m := rec.span.Marks()
		if m.last == 0 { // a further mark of its span
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
	taken := u.takes() == AllMarks // the receiver takes each mark now, or took it before
	if taken {
		lost = &u.shard.marksOnlyTaken
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

// overLimit reports whether the limit of rec's span drops many marks in j. u.mu is held.
func (u *Unit) overLimit(j *journal, rec *journalRecord) bool {
	limit := u.receiver.MarkLimit()
	return rec.gets == getsMark && limit >= 0 &&
		int(rec.span.Marks().count) > limit+len(j.records)/16
}

// replace copies rest, which may be nil, into j's storage, for a stream of marks. u.mu is held.
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
	u.inBuffer = int32(len(j.records))
}

// waits reports whether a record is a mark of an open span.
func (rec *journalRecord) waits() bool { return rec.gets == getsMark && !rec.span.Marks().ended() }
