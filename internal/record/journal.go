package record

import (
	"log/slog"
	"math"
	"sync"
	"time"
	"unsafe"
)

// Bounds of a journal. It is handed over when it reaches one.
const (
	maxFinished    = 512
	maxJournalSize = 512 << 10
)

// A journal is the storage of a unit. It is pooled: other units get it afterwards.
type journal struct {
	records   []journalRecord
	attrs     []slog.Attr
	ids       []SpanIDs
	finished  int              // records that the receiver gets: spans, measures and marks alone
	untaken   int              // marks that the receiver has not had by themselves
	size      int              // of all of it, in bytes
	counted   int              // in the shard's bytes
	undecided int              // of counted, what counts for undecided units, too
	latest    time.Duration    // of the times when its records were recorded
	recorded  [numKinds]uint32 // entries since the shard has counted them
	part      Finished
	room      *journalWithRoom // that it is a part of
}

// A journalRecord is an entry, or a finished span.
type journalRecord struct {
	name     string
	span     Span          // that has finished, or that the entry is under
	start    time.Duration // since the root's origin, as at
	duration time.Duration
	at       time.Duration // when it was recorded
	attrs    uint32        // where its attributes begin
	nattrs   uint32
	kind     kind // none if it has no entry
	gets     gets
	taken    bool  // the receiver has had the mark by itself
	queued   bool  // the entry was made before it was recorded
	ids      int32 // the place of its ids in the journal, plus 1; 0 for the ids of the span
	before   int32 // the place of the span's mark before this one, plus 1
	size     int32 // of the span, and of the contents of the attributes
}

// gets says what the receiver gets of a record.
type gets uint8

const (
	getsNothing gets = iota
	getsSpan
	getsMeasure
	getsMark
	getsMarkAlone // by itself only: its span has ended, or has no room for it
)

// SpanMarks is what a timeline keeps at a span. The timeline's lock guards it.
type SpanMarks struct {
	last    int32  // the place of the last mark in the journal, plus 1; 0 for none
	count   int32  // of marks in the journal
	skip    int32  // scratch of keepMarks; -1 after the span's end
	dropped uint32 // marks that were lost before the span's end
}

// Len returns how many marks of a finished span the journal has.
func (m *SpanMarks) Len() int { return int(m.count) }

// Dropped returns how many marks of a finished span were lost before its end.
func (m *SpanMarks) Dropped() int { return int(m.dropped) }

// End says that the span has finished. The timeline's lock is held, unless the span has no unit.
func (m *SpanMarks) End() { m.skip = -1 }

func (m *SpanMarks) ended() bool { return m.skip < 0 }

var journals sync.Pool

// A journalWithRoom is a new journal with room for a usual request, in one allocation.
type journalWithRoom struct {
	journal journal
	records [12]journalRecord
	attrs   [16]slog.Attr
}

func newJournal() *journal {
	j, ok := journals.Get().(*journal)
	if !ok {
		with := new(journalWithRoom)
		j = &with.journal
		j.records, j.attrs, j.room = with.records[:0], with.attrs[:0], with
	}
	checkUnused(j)
	return j
}

// recordSize is a size as a record has it. The bounds of a journal are far below the cut.
func recordSize(n int) int32 { return int32(min(n, math.MaxInt32/2)) }

const attrSize = int(unsafe.Sizeof(slog.Attr{}))

const recordRoom = int(unsafe.Sizeof(journalRecord{}))

func (rec *journalRecord) sizeWith(attrs []slog.Attr) int {
	return recordRoom + int(rec.size) + len(rec.name) + len(attrs)*attrSize
}

// append appends a record with a copy of the list of its attributes.
func (j *journal) append(rec *journalRecord, attrs []slog.Attr) {
	j.records = append(j.records, *rec)
	j.latest = max(j.latest, rec.at)
	last := &j.records[len(j.records)-1]
	last.attrs, last.nattrs = uint32(len(j.attrs)), uint32(len(attrs))
	j.attrs = append(j.attrs, attrs...)
	switch rec.gets {
	case getsSpan, getsMeasure, getsMarkAlone:
		j.finished++
	case getsMark:
		if !rec.taken {
			j.untaken++
		}
		m := rec.span.Marks()
		last.before = m.last
		m.last = int32(len(j.records))
		m.count++
	default:
	}
}

func (j *journal) attributes(rec *journalRecord) []slog.Attr {
	if rec.nattrs == 0 {
		return nil
	}
	to := int(rec.attrs) + int(rec.nattrs)
	return j.attrs[rec.attrs:to:to]
}

// free empties the journal and gives it to the pool.
func (j *journal) free() {
	const maxPooled = 1 << 10 // records
	clear(j.records)
	clear(j.attrs)
	if cap(j.records) > len(j.room.records) { // and the first ones are still where they were
		clear(j.room.records[:])
	}
	if cap(j.attrs) > len(j.room.attrs) {
		clear(j.room.attrs[:])
	}
	*j = journal{records: j.records[:0], attrs: j.attrs[:0], ids: j.ids[:0], room: j.room}
	if cap(j.records) > maxPooled || cap(j.attrs) > 4*maxPooled {
		return
	}
	poison(j)
	journals.Put(j)
}

// Finished is a part of a unit's journal: finished spans with their marks, and measures. It is
// valid during the call of HandOver only.
type Finished struct {
	journal  *journal
	unit     *Unit // nil for a span without one
	receiver Receiver
	shard    *unitShard    // whose list has it
	ended    time.Duration // when it came there, for the order
	anchor   time.Time     // the wall clock's time of the root's origin
	item     Item          // that At has returned
}

// An Item is a finished span, or a measure that is no span yet.
type Item struct {
	Span     Span          // the finished span, or the one that the measure was recorded under
	IsSpan   bool          // it is a finished span, and has no name and no times here
	Measure  string        // the measure's name
	Start    time.Time     // of the measure
	Duration time.Duration // of the measure; negative if it ended before its start
	Attrs    []slog.Attr   // of the entry, frozen
}

// Unit returns the unit, and nil for a span without one.
func (f *Finished) Unit() *Unit { return f.unit }

// Refused returns how many spans and measures the journal of an undecided unit had no room for.
func (f *Finished) Refused() uint32 {
	if f.unit == nil {
		return 0
	}
	f.unit.mu.Lock()
	defer f.unit.mu.Unlock()
	return f.unit.refused
}

// Len returns the number of places for items.
func (f *Finished) Len() int { return len(f.journal.records) }

// At returns the item at a place, until the next call of At, and nil if the place has none.
func (f *Finished) At(place int) *Item {
	rec, it := &f.journal.records[place], &f.item
	switch rec.gets {
	case getsSpan:
		it.Span, it.IsSpan, it.Measure, it.Start, it.Duration = rec.span, true, "", time.Time{}, 0
	case getsMeasure:
		it.Span, it.IsSpan, it.Measure, it.Start, it.Duration = rec.span, false, rec.name,
			f.anchor.Add(rec.start), rec.duration
	default:
		return nil
	}
	it.Attrs = f.journal.attributes(rec)
	return it
}

// Mark returns the mark at a place, and the span that it was made under, if the receiver takes the
// mark by itself. It gets each mark once.
func (f *Finished) Mark(place int) (m FinishedMark, under Span, ok bool) {
	rec, taken := &f.journal.records[place], NoMarks
	if f.unit != nil {
		taken = f.unit.takes()
	}
	if taken == NoMarks || rec.gets != getsMarkAlone &&
		(rec.gets != getsMark || rec.taken || taken != AllMarks) {
		return FinishedMark{}, nil, false
	}
	return FinishedMark{f, int32(place) + 1}, rec.span, true
}

// LastMark returns the last mark of a finished span.
func (f *Finished) LastMark(s Span) FinishedMark { return FinishedMark{f, s.Marks().last} }

// A FinishedMark is a mark of a finished span, or one that the receiver takes by itself.
type FinishedMark struct {
	finished *Finished
	place    int32 // plus 1; 0 for none
}

// Valid reports whether there is a mark.
func (m FinishedMark) Valid() bool { return m.place > 0 }

func (m FinishedMark) record() *journalRecord { return &m.finished.journal.records[m.place-1] }

// Alone reports whether the span does not have the mark: it had ended, or there was no room.
func (m FinishedMark) Alone() bool { return m.record().gets == getsMarkAlone }

// Name returns the mark's name.
func (m FinishedMark) Name() string { return m.record().name }

// Time returns when the mark was.
func (m FinishedMark) Time() time.Time { return m.finished.anchor.Add(m.record().start) }

// Attrs returns the mark's attributes, which are frozen.
func (m FinishedMark) Attrs() []slog.Attr { return m.finished.journal.attributes(m.record()) }

// Before returns the span's mark before this one.
func (m FinishedMark) Before() FinishedMark { return FinishedMark{m.finished, m.record().before} }
