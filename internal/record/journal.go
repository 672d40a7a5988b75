package record

import (
	"log/slog"
	"math"
	"sync"
	"time"
	"unsafe"
)

// Bounds of a journal. A unit hands over a journal that reaches a bound.
const (
	maxFinished    = 512       // records for the receiver
	maxJournalSize = 512 << 10 // bytes
)

// A journal is the storage of a unit. Journals are pooled.
type journal struct {
	records   []journalRecord
	attrs     []slog.Attr
	ids       []SpanIDs
	finished  int              // spans, measures and marks alone: records for the receiver
	untaken   int              // marks that the receiver has not taken by themselves
	size      int              // in bytes
	counted   int              // bytes of the shard, in steps
	undecided int              // the part of counted that also counts for undecided units
	latest    time.Duration    // the latest time of recording
	recorded  [numKinds]uint32 // entries that the shard has not counted yet
	part      Finished
	room      *journalWithRoom // the journal's first storage
}

// A journalRecord is an entry, or a finished span.
type journalRecord struct {
	name     string
	span     Span          // the finished span, or the parent of the entry
	start    time.Duration // since the root's origin, as at
	duration time.Duration
	at       time.Duration // the time of recording
	attrs    uint32        // the index of the first attribute
	nattrs   uint32
	kind     kind // kindNone without an entry
	gets     delivery
	taken    bool  // the receiver has taken the mark by itself
	queued   bool  // the entry was made before its recording
	ids      int32 // the index in journal.ids, plus 1; 0 for the ids of the span
	previous int32 // the index of the span's previous mark, plus 1
	size     int32 // bytes of the span and of the contents of the attributes
}

// A delivery says what the receiver gets of a record.
type delivery uint8

const (
	getsNothing delivery = iota
	getsSpan
	getsMeasure
	getsMark
	getsMarkAlone // without its span, which has ended or has no room for the mark
)

// SpanMarks stores the timeline's data about the marks of one span. The timeline's mu guards the
// fields.
type SpanMarks struct {
	last    int32  // the index of the last mark in the journal, plus 1; 0 without a mark
	count   int32  // of marks in the journal
	skip    int32  // scratch of keepMarks; -1 after the span's end
	dropped uint32 // marks that were lost before the span's end
}

// Len returns the number of marks that the journal contains for the finished span.
func (m *SpanMarks) Len() int { return int(m.count) }

// Dropped returns the number of the span's marks that the timeline dropped before the end of the
// span.
func (m *SpanMarks) Dropped() int { return int(m.dropped) }

// End marks the span as finished. The caller must lock the timeline's mu, unless the span belongs
// to no unit.
func (m *SpanMarks) End() { m.skip = -1 }

func (m *SpanMarks) ended() bool { return m.skip < 0 }

var journals sync.Pool

// A journalWithRoom is a journal with storage for a usual request, in one allocation.
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

// recordSize converts n for journalRecord.size. A journal hands over long before the cut.
func recordSize(n int) int32 { return int32(min(n, math.MaxInt32/2)) }

const attrSize = int(unsafe.Sizeof(slog.Attr{}))

const recordRoom = int(unsafe.Sizeof(journalRecord{}))

func (rec *journalRecord) sizeWith(attrs []slog.Attr) int {
	return recordRoom + int(rec.size) + len(rec.name) + len(attrs)*attrSize
}

// append appends a record, and copies the list of attributes.
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
		last.previous = m.last
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

// free empties the journal and returns the journal to the pool.
func (j *journal) free() {
	const maxPooled = 1 << 10 // records
	clear(j.records)
	clear(j.attrs)
	if cap(j.records) > len(j.room.records) { // the first storage still holds old records
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

// A Finished is a part of a unit's journal. A Finished contains finished spans, the marks of these
// spans, and measures. A Finished is valid only during the call of [Receiver].HandOver.
type Finished struct {
	journal  *journal
	unit     *Unit // nil for a span without a unit
	receiver Receiver
	open     bool   // the unit has not ended
	mirrored bool   // the unit has a slot
	written  uint32 // entries in the slot so far
	shard    *unitShard
	ended    time.Duration // the time of retire, for the order of hand-overs
	anchor   time.Time     // the wall-clock time of the root's origin
	item     Item          // the result of At
}

// An Item is a finished span, or a measure that was recorded without a separate span.
type Item struct {
	Span     Span          // the finished span, or the parent of the measure
	IsSpan   bool          // the item is a span: Measure, Start and Duration are zero
	Measure  string        // the measure's name
	Start    time.Time     // of the measure
	Duration time.Duration // of the measure; negative if the measure's end lies before the start
	Attrs    []slog.Attr   // of the entry, frozen
}

// Unit returns the unit of the journal. Unit returns nil if the journal contains a span without a
// unit.
func (f *Finished) Unit() *Unit { return f.unit }

// Open reports whether the unit was open at the hand-over: the local root follows later.
func (f *Finished) Open() bool { return f.open }

// Refused returns the number of spans and measures that did not fit into the journal of an
// undecided unit.
func (f *Finished) Refused() uint32 {
	if f.unit == nil {
		return 0
	}
	f.unit.mu.Lock()
	defer f.unit.mu.Unlock()
	return f.unit.refused
}

// Len returns the number of records in f. The place of a record is a number from 0 to Len()-1.
func (f *Finished) Len() int { return len(f.journal.records) }

// At returns the finished span or the measure at a place. At returns nil if the record at the place
// is neither a span nor a measure. The next call of At overwrites the item.
func (f *Finished) At(place int) *Item {
	rec, it := &f.journal.records[place], &f.item
	switch rec.gets {
	case getsSpan:
		*it = Item{Span: rec.span, IsSpan: true}
	case getsMeasure:
		*it = Item{Span: rec.span, Measure: rec.name, Start: f.anchor.Add(rec.start),
			Duration: rec.duration}
	default:
		return nil
	}
	it.Attrs = f.journal.attributes(rec)
	return it
}

// Mark returns the mark at a place, and the parent span of the mark. ok is true if the receiver
// selected this mark by [Receiver].TakesMarks. For each mark, ok is true in only one Finished.
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

// LastMark returns the last mark of a finished span. If the span contains no mark, the result is
// invalid: see [FinishedMark.Valid].
func (f *Finished) LastMark(s Span) FinishedMark { return FinishedMark{f, s.Marks().last} }

// A FinishedMark is a mark of a finished span, or a mark that the receiver receives without the
// span.
type FinishedMark struct {
	finished *Finished
	place    int32 // plus 1; 0 without a mark
}

// Valid reports whether m refers to a mark. If no mark exists, [Finished.LastMark] and
// [FinishedMark.Previous] return an invalid FinishedMark.
func (m FinishedMark) Valid() bool { return m.place > 0 }

func (m FinishedMark) record() *journalRecord { return &m.finished.journal.records[m.place-1] }

// Alone reports whether the parent span omits the mark. A span omits a mark that was recorded after
// the end of the span, or when the span was full.
func (m FinishedMark) Alone() bool { return m.record().gets == getsMarkAlone }

// Name returns the mark's name.
func (m FinishedMark) Name() string { return m.record().name }

// Time returns the wall-clock time of the mark.
func (m FinishedMark) Time() time.Time { return m.finished.anchor.Add(m.record().start) }

// Attrs returns the frozen attributes of the mark.
func (m FinishedMark) Attrs() []slog.Attr { return m.finished.journal.attributes(m.record()) }

// Previous returns the previous mark of the same span. If m is the first mark of the span, the
// result is invalid: see [FinishedMark.Valid].
func (m FinishedMark) Previous() FinishedMark {
	return FinishedMark{m.finished, m.record().previous}
}
