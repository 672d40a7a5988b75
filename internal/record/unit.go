package record

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// A Unit is the timeline of one unit of work: an HTTP request, an RPC, a message, a job. What a
// tracing system gets of the unit waits in a journal. All methods may be called concurrently.
//
// A unit serves no other work, so that late records cannot get into another unit's data. The
// storage of its journal is pooled. The unit lets go of the journal before the receiver reads it.
type Unit struct {
	Timeline

	receiver Receiver // of the journal; nil without one
	shard    *unitShard
	fate     atomic.Uint32 // see fate.go
	Chosen   atomic.Bool   // the program wants the unit kept; without effect after the unit's end
	Failed   atomic.Bool   // a span of the unit failed

	timings timings
	route   atomic.Pointer[string]

	// The timeline's mu guards these.
	journal *journal // nil unless something waits for the receiver
	shown   int32    // records of the journal that the buffer has
	refused uint32   // spans and measures for which an undecided journal had no room
	late    uint32   // marks after the end of their spans, while the unit is undecided
	orphans uint32   // marks in an undecided journal, of spans that it had no room for

	// The shard's mu guards these.
	place int32  // in the shard's list, plus 1; 0 outside
	sweep uint32 // the number of sweeps when the unit came there
}

// A Receiver takes the journals of units. Package bridge has the one for OpenTelemetry.
type Receiver interface {
	// HandOver gets parts of the journals of some units, which are valid during the call only.
	// Several goroutines may call it at once with different parts, without a lock. It must not
	// block or panic.
	HandOver([]*Finished)

	// MarkLimit returns how many marks a span keeps: the last ones. A negative limit means no
	// limit.
	MarkLimit() int

	// TakesMarks says which marks the receiver takes by themselves, in addition to the marks of
	// finished spans. The value never changes. An undecided unit gives marks by themselves only if
	// it is exported.
	TakesMarks() MarksTaken
}

// MarksTaken says which marks a [Receiver] takes by themselves: see [Finished.Mark].
type MarksTaken uint8

// The marks that a receiver takes by themselves.
const (
	NoMarks   MarksTaken = iota
	LateMarks            // marks that were made after the end of their span
	// each mark, with the next part of its unit: also marks of spans that have not finished
	AllMarks
)

// A Span is a span of a unit. Its tracing system keeps its state. The timeline keeps its marks
// until the span has finished.
type Span interface {
	// IDs returns the ids of the span and of its parent. They do not change.
	IDs() SpanIDs

	// Marks returns what the timeline keeps at the span: always the same pointer.
	Marks() *SpanMarks

	// Size returns the memory that the finished span takes, in bytes. It need not be exact.
	Size() int

	// Describe returns the entry of the finished span.
	Describe() Description
}

// A Description is what an entry says of a span.
type Description struct {
	Type       Type
	Name       string
	Start, End time.Time
	Attrs      []slog.Attr // frozen
}

// NewUnit returns a unit whose entries reach the observers of t, too. Its origin is start, which
// must carry a monotonic reading (as time.Now does) to be exact. An origin further than [MaxTime]
// from the process timeline's becomes the nearest in range. With a Clock of the timeline's own, the
// unit begins now.
//
// A unit of a tracing system has a receiver. Finished spans, and the marks and measures under them,
// wait in the journal of the unit. The receiver gets them after the unit's end, with other units:
// after 64 units, or after 100 ms. It gets a part of them earlier when the journal has 512 spans
// and measures, or 512 KiB, when the journal is 2.5 to 5 s old, when too many bytes wait in the
// process, or when [Timeline.FlushUnits] is called. After the unit's end, the receiver gets each
// span that finishes late.
func (t *Timeline) NewUnit(start time.Time, r Receiver) *Unit {
	u := new(Unit)
	t.InitUnit(u, start, r, false)
	return u
}

// InitUnit is NewUnit for a zero Unit in the caller's memory. If undecided is true, [Unit.End],
// [Unit.Export] or [Unit.Discard] decides about the unit.
func (t *Timeline) InitUnit(u *Unit, start time.Time, r Receiver, undecided bool) {
	if undecided {
		u.fate.Store(fateUndecided)
	}
	root := t.root
	since := clamp(start.Sub(root.epoch))
	u.root, u.parent, u.unit, u.origin, u.originTime, u.receiver = root, t, u, since, start, r
	if since.Abs() == MaxTime {
		u.originTime = root.epoch.Add(since)
	}
	if root.clock != nil {
		u.origin = clamp(root.clock())
	}
	u.shard = root.units.shards.Near()
}

// NewChild returns the timeline of a unit without a receiver, which begins now. Close it when the
// request is over.
func (t *Timeline) NewChild() *Timeline { return &t.NewUnit(time.Now(), nil).Timeline }

// EndSpan takes a span of the unit that has finished and does not change any more. Its entry is
// what Describe says, with attrs, which are frozen. There is no entry if typ is "".
func (u *Unit) EndSpan(s Span, typ Type, attrs []slog.Attr) {
	k, _ := kindOf(typ)
	size := Contents(attrs)
	if u.receiver != nil {
		size += s.Size()
	}
	u.add(&journalRecord{span: s, kind: k, gets: getsSpan, size: recordSize(size)}, attrs)
}
