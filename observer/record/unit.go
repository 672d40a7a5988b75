package record

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"
)

// A Receiver takes the journals of units. Package bridge has the one for OpenTelemetry.
type Receiver interface {
	// HandOver is called with a part of a unit's journal, which is valid during the call only. Several goroutines may
	// call it at once, each one with another part, and no lock is held. It must not block, and must not panic.
	HandOver(*Finished)

	// MarkLimit returns how many marks a span keeps: the last ones. A negative limit means no limit.
	MarkLimit() int

	// TakesMarks says which marks the receiver takes by themselves, in addition to the marks of finished spans. It always returns
	// the same value. Of an undecided unit, the receiver takes marks by themselves only if the unit is exported.
	TakesMarks() MarksTaken
}

// MarksTaken says which marks a [Receiver] takes by themselves: see [Finished.Mark].
type MarksTaken uint8

// The marks that a receiver takes by themselves.
const (
	NoMarks   MarksTaken = iota
	LateMarks            // marks that were made after the end of their span
	AllMarks             // each mark, with the next part of its unit: also marks of spans that have not finished
)

// A Span is a span of a unit. The tracing system that makes it keeps its state. The timeline has its marks until it
// has finished.
type Span interface {
	// IDs returns the ids of the span and of its parent. They do not change.
	IDs() SpanIDs

	// Marks returns what the timeline keeps at the span. It is always the same pointer.
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

// NewUnit returns a timeline for one unit of work: an HTTP request, an RPC, a message, a job. Its origin is start,
// which must carry a monotonic reading (as time.Now does) to be exact. An origin further than [MaxTime] from the process
// timeline's becomes the nearest in range. With a Clock of the timeline's own, the unit begins now. Its entries reach the
// observers of t too.
//
// A unit of a tracing system has a receiver. Its finished spans, and the marks and measures under them, wait in its
// journal. The receiver gets them when the unit ends. It gets a part of them earlier in these cases:
//
//   - The journal has 512 spans and measures, or 512 KiB.
//   - It is 2.5 to 5 s old.
//   - Too many units, or too many bytes, wait in the process.
//   - [Timeline.FlushUnits] is called.
//
// The marks of a span go with the span. A receiver may take marks by themselves as well. After the unit's end, the receiver gets each
// span as it finishes.
//
// A unit is garbage-collected and serves no other work, so what is recorded late cannot get into another unit's data.
// The storage of its journal is pooled. Only the unit points to it, and lets go of it before the receiver reads it.
func (t *Timeline) NewUnit(start time.Time, r Receiver) *Timeline {
	root := t.root
	since := clamp(start.Sub(root.epoch))
	u := &Timeline{root: root, parent: t, origin: since, originTime: start, receiver: r}
	if since.Abs() == MaxTime {
		u.originTime = root.epoch.Add(since)
	}
	if root.clock != nil {
		u.origin = clamp(root.clock())
	}
	u.shard = &root.units.shards[rand.Uint64()%unitShards]
	return u
}

// NewChild makes a timeline for one request or job, with its own origin (now) and its own names. It is a unit without a
// receiver: its entries reach the observers of t. Close it when the request is over.
func (t *Timeline) NewChild() *Timeline { return t.NewUnit(time.Now(), nil) }

// EndSpan takes a span of the unit that has finished. The span does not change any more. Its entry is what its Describe
// says, with attrs, which are frozen, unless typ is "". Entries of marks under the span that come later are late.
func (t *Timeline) EndSpan(s Span, typ Type, attrs []slog.Attr) {
	k, _ := kindOf(typ)
	size := Contents(attrs)
	if t.receiver != nil {
		size += s.Size()
	}
	t.add(&journalRecord{span: s, kind: k, gets: getsSpan, size: recordSize(size)}, attrs)
}

// Show records the entry of a span that another tracing system makes. It counts as recorded at the span's end.
func (t *Timeline) Show(ids SpanIDs, d Description) bool {
	k, ok := kindOf(d.Type)
	if !ok {
		return false
	}
	start, duration := interval(t.origin, t.Since(d.Start), d.End.Sub(d.Start))
	return t.put(t.newEntry(ids, k, Name(d.Name), start, duration, start+duration), d.Attrs)
}

// End ends a unit with the span that is its root, and hands over everything. The span has no entry.
func (t *Timeline) End(root Span) { t.end(root) }

// Close ends a unit that has no root, such as a child timeline: its entries are delivered, its observers
// disconnected, and its buffer is emptied. A later entry, of
// a goroutine that outlives the request, still reaches the
// observers of its parents and the tracing system. Closing twice, or closing a process
// timeline, does nothing.
func (t *Timeline) Close() {
	if t.parent != nil {
		t.end(nil)
	}
}

func (t *Timeline) end(root Span) {
	if t.tentative {
		t.decision.Store(max(t.decision.Load(), unitKept))
	}
	if t.closed.Swap(true) && root == nil {
		return
	}
	t.disconnect()
	t.mu.Lock()
	t.dropBuffer()
	if t.taken() == NoMarks {
		t.shard.late.Add(uint64(t.late))
	}
	t.late = 0
	if root != nil {
		root.Marks().End()
		t.write(&journalRecord{span: root, gets: getsSpan}, nil)
	}
	t.handOver(causeEnd)
}

// disconnect delivers what the unit's own observers have, and unregisters them.
func (t *Timeline) disconnect() {
	if t.wants.Load() == 0 { // Observe looks at closed again after it has set wants
		return
	}
	r := t.root
	r.lock()
	defer r.unlock()
	for _, o := range slices.Clone(t.observers) {
		o.countDropped()
		o.unregister() // what it has buffered is still delivered
	}
}
