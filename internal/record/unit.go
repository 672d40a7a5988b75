package record

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// A Unit is the timeline of one unit of work: an HTTP request, an RPC, a message, a job. A journal
// holds the unit's records for a tracing system. All methods may be called concurrently.
//
// A unit is never reused, so that a late record cannot reach another unit. The storage of a journal
// is pooled: a unit detaches its journal before the receiver reads the journal.
type Unit struct {
	Timeline

	receiver Receiver // of the journal, or nil
	shard    *unitShard
	fate     atomic.Uint32 // see fate.go
	Chosen   atomic.Bool   // the program asked to keep the unit; no effect after the unit's end
	Failed   atomic.Bool   // a span of the unit failed

	timings timings
	route   atomic.Pointer[string]

	// The timeline's mu guards the fields below.
	journal  *journal // nil while empty
	inBuffer int32    // so many first records of the journal are in the buffer
	refused  uint32   // spans and measures that the undecided unit could not keep
	late     uint32   // marks after the end of their spans, while the unit is undecided
	orphans  uint32   // marks in an undecided journal, without room for their spans

	// The shard's mu guards the fields below.
	place int32  // the index in the shard's list, plus 1; 0 outside the list
	sweep uint32 // the number of sweeps before the unit entered the list
}

// A Receiver takes the journals of units. Package bridge implements Receiver for OpenTelemetry.
type Receiver interface {
	// HandOver takes parts of the journals of some units. The parts are valid during the call.
	// Several goroutines may call HandOver at once with different parts, without a lock. HandOver
	// must not block or panic.
	HandOver([]*Finished)

	// MarkLimit returns the number of marks that a span keeps, the last ones. A negative limit
	// means no limit.
	MarkLimit() int

	// TakesMarks returns the marks that the receiver takes by themselves, in addition to the marks
	// of finished spans. The result never changes. An undecided unit gives marks by themselves only
	// if the unit is exported.
	TakesMarks() MarksTaken
}

// MarksTaken are the marks that a [Receiver] takes by themselves: see [Finished.Mark].
type MarksTaken uint8

// The marks that a receiver takes by themselves.
const (
	NoMarks   MarksTaken = iota
	LateMarks            // marks after the end of their span
	AllMarks             // each mark, with the next part of its unit, also of open spans
)

// A Span is a span of a unit. The tracing system owns the span; the timeline stores its marks until
// the span has finished.
type Span interface {
	// IDs returns the ids of the span and of its parent. The ids never change.
	IDs() SpanIDs

	// Marks returns the timeline's data about the marks of the span, always the same pointer.
	Marks() *SpanMarks

	// Size returns the approximate memory of the finished span, in bytes.
	Size() int

	// Describe returns the entry of the finished span.
	Describe() Description
}

// A Description is the entry of a span.
type Description struct {
	Type       Type
	Name       string
	Start, End time.Time
	Attrs      []slog.Attr // frozen
}

// NewUnit returns a unit whose entries also reach the observers of t. start is the unit's origin. A
// monotonic reading, as time.Now returns it, makes the origin exact. An origin further than
// [MaxTime] from the process timeline's becomes the nearest in range. With a TimelineOptions.Clock,
// the origin is now.
//
// The journal of a unit with a receiver holds finished spans, and the marks and measures under
// them. The receiver gets the journal after the unit's end, together with other units: after 64
// units, or after 100 ms. The receiver gets a part earlier when the journal has 512 spans and
// measures, or 512 KiB, or is 2.5 to 5 s old, when the journals of the process have too many bytes,
// and in [Timeline.FlushUnits]. After the unit's end, the receiver gets each span that finishes
// late.
func (t *Timeline) NewUnit(start time.Time, r Receiver) *Unit {
	u := new(Unit)
	t.InitUnit(u, start, r, false)
	return u
}

// InitUnit is NewUnit for a zero Unit in the caller's memory. With undecided, [Unit.End],
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

// NewChild returns the timeline of a unit without a receiver, with the origin now. Close the
// timeline at the end of the request.
func (t *Timeline) NewChild() *Timeline { return &t.NewUnit(time.Now(), nil).Timeline }

// EndSpan takes a finished span of the unit, which no longer changes. The entry has the description
// of the span and attrs, which are frozen. Without typ there is no entry.
func (u *Unit) EndSpan(s Span, typ Type, attrs []slog.Attr) {
	k, _ := kindOf(typ)
	size := Contents(attrs)
	if u.receiver != nil {
		size += s.Size()
	}
	u.add(&journalRecord{span: s, kind: k, gets: getsSpan, size: recordSize(size)}, attrs)
}
