package record

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/record/mirror"
)

// A Unit is the timeline of one unit of work: an HTTP request, an RPC, a message, or a job. The
// journal of the unit stores the records for a tracing system. All methods may be called
// concurrently.
//
// A Unit is never reused, so a late record cannot reach another unit. The storage of a journal is
// pooled. A unit therefore detaches the journal before the receiver reads the journal.
type Unit struct {
	Timeline

	receiver Receiver // of the journal, or nil
	shard    *unitShard
	fate     atomic.Uint32 // see fate.go
	Chosen   atomic.Bool   // the program asked to keep the unit; no effect after the unit's end
	Stream   atomic.Bool   // the program said that the unit is a stream; as Chosen

	ErrorInside atomic.Bool // a span inside the unit failed

	timings timings
	route   atomic.Pointer[requestRoute]

	// The timeline's mu guards the fields below.
	journal  *journal     // nil while empty
	inBuffer int32        // so many first records of the journal are in the buffer
	refused  uint32       // spans and measures that the undecided unit could not keep
	late     uint32       // marks after the end of their spans, while the unit is undecided
	orphans  uint32       // marks in an undecided journal, without room for their spans
	mirror   *mirror.Slot // nil without a black box

	// The shard's mu guards the fields below.
	place int32  // the index in the shard's list, plus 1; 0 outside the list
	sweep uint32 // the number of sweeps before the unit entered the list
}

// A Receiver receives the journals of units. Package bridge implements Receiver for OpenTelemetry.
type Receiver interface {
	// HandOver receives parts of the journals of some units. The receiver must not use the parts
	// after the call. Several goroutines may call HandOver concurrently with different parts,
	// without a lock. HandOver must not block or panic.
	HandOver([]*Finished)

	// MarkLimit returns the maximum number of marks of a span. A span stores the last marks. A
	// negative limit means no limit.
	MarkLimit() int

	// TakesMarks returns the marks that the receiver wants separately, in addition to the marks of
	// finished spans. The result must never change. An undecided unit delivers separate marks only
	// after the unit is exported.
	TakesMarks() MarksTaken
}

// MarksTaken selects the marks that a [Receiver] receives without the span: see [Finished.Mark].
type MarksTaken uint8

// The marks that a receiver takes by themselves.
const (
	NoMarks   MarksTaken = iota
	LateMarks            // marks after the end of their span
	AllMarks             // each mark, with the next part of its unit, also of open spans
)

// A Span is a span of a unit. The tracing system owns the span. The timeline stores the marks of
// the span until the span has finished.
type Span interface {
	// IDs returns the ids of the span, of the parent span and of the trace. The ids never change.
	IDs() SpanIDs

	// Marks returns the timeline's data about the marks of the span. Marks always returns the same
	// pointer.
	Marks() *SpanMarks

	// Size returns the approximate memory size of the finished span in bytes.
	Size() int

	// Describe returns the data of the finished span for the span's entry.
	Describe() Description
}

// A Description contains the data of a finished span for the entry of the span.
type Description struct {
	Type       Type
	Name       string
	Start, End time.Time
	Attrs      []slog.Attr // frozen
}

// NewUnit returns a new unit. The observers of t also receive the entries of the unit. start is the
// origin of the unit. A start with a monotonic reading, as from time.Now, defines the origin
// exactly. An origin out of range becomes the nearest time in range. The range is [MaxTime] around
// the origin of the process timeline. With a TimelineOptions.Clock, the origin is the current time
// of this clock.
//
// If r is not nil, the journal stores finished spans, and the marks and measures under these spans.
// r receives the journals of ended units together: when 64 units have ended, or after 100 ms. r
// receives a part of the journal earlier in these cases:
//
//   - the journal reaches 512 spans and measures, or 512 KiB
//   - the journal is 2.5 to 5 s old
//   - the journals of the process occupy too many bytes
//   - the program calls [Timeline.FlushUnits]
//
// A span may finish after the end of the unit. r receives each such span separately.
func (t *Timeline) NewUnit(start time.Time, r Receiver) *Unit {
	u := new(Unit)
	t.InitUnit(u, start, r, false)
	return u
}

// InitUnit initializes a zero Unit in the caller's memory, in the same way as [Timeline.NewUnit].
// If undecided is true, the receiver receives the unit only after [Unit.End] or [Unit.Export].
// After [Unit.Discard], the receiver receives nothing.
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

// NewChild returns the timeline of a unit without a receiver. The origin of the timeline is the
// current time. Close the timeline at the end of the request.
func (t *Timeline) NewChild() *Timeline { return &t.NewUnit(time.Now(), nil).Timeline }

// EndSpan stores a finished span of the unit. The span must not change any more. EndSpan also
// records an entry of type typ with the description of the span, and with attrs. attrs must be
// frozen. If typ is "", EndSpan records no entry.
func (u *Unit) EndSpan(s Span, typ Type, attrs []slog.Attr) {
	k, _ := kindOf(typ)
	size := Contents(attrs)
	if u.receiver != nil {
		size += s.Size()
	}
	u.add(&journalRecord{span: s, kind: k, gets: getsSpan, size: recordSize(size)}, attrs)
}
