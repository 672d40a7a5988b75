package observer

import (
	"context"
	"log/slog"
	"time"

	"github.com/perfline/perfline/observer/record"
)

// TimelineOptions configures [NewTimeline]. The zero value is what the default
// timeline uses.
type TimelineOptions struct {
	// BufferSize is how many entries of each type the timeline keeps for Entries;
	// further ones are counted as BufferFull in [Stats], and observers get them all
	// the same. The names of marks that were not kept can be measured from, twice as
	// many as are kept and 1024 more. 0 means 10 000; negative: none.
	BufferSize int

	// ChildBufferSize is BufferSize for the timelines of requests.
	// 0 means 2 000; negative: none.
	ChildBufferSize int

	// MaxPending bounds the memory of entries that wait for the collector, on the
	// process timeline and all its children together; further ones are lost and
	// counted as Overflow. There are 6 KiB for every 16 of it, each for at most 24
	// entries and 60 attributes. 0 means 65 536.
	MaxPending int

	// Interval is how long entries may wait for the collector, unless there are many. A
	// short one costs: to wake an idle process takes more than to carry an entry away. 0 means
	// 50 ms.
	Interval time.Duration

	// Scheduler, when set, is called once for every task the timeline has: to
	// collect what was recorded and call observers (the "queue a task" of
	// Performance Timeline 2, section 3). It is called during the call that
	// records, must not block and must not run task itself before returning. At
	// most one task waits at a time. While an observer wants entries of type GC it
	// is also called, on a goroutine of the runtime's, when a collection has ended.
	// Without it, the timeline runs its tasks on a goroutine of its own after
	// Interval.
	Scheduler func(task func())

	// Clock, when set, is the time since the timeline's origin; it must not go
	// backwards. A timeline with a clock of its own keeps entries of equal time in
	// the order in which they were recorded. The wall clock has nothing to do with
	// it: Since, which is given a time of that, is of no use then.
	// Without it, the monotonic clock.
	Clock func() time.Duration

	// Logger gets the panics of callbacks and the
	// options that are ignored. nil means slog.Default().
	Logger *slog.Logger
}

// A Timeline records entries and shows them to observers. All its methods may
// be called concurrently. Package marks records on it. Package record has the methods for code that records in other ways: a
// *Timeline converts to a [*record.Timeline].
type Timeline record.Timeline

// recorded returns t with the methods of package record.
func (t *Timeline) recorded() *record.Timeline { return (*record.Timeline)(t) }

// ProcessTimeline returns the process timeline. It exists from the start of the program.
func ProcessTimeline() *Timeline { return (*Timeline)(record.ProcessTimeline()) }

// NewTimeline makes a process timeline of its own, for a program that must not
// share the default one, and for tests. It runs no goroutine while nothing is
// recorded and needs no closing.
func NewTimeline(o TimelineOptions) *Timeline {
	return (*Timeline)(record.NewTimeline(record.TimelineOptions(o)))
}

// NewContext returns a context that carries t.
func NewContext(ctx context.Context, t *Timeline) context.Context {
	return record.NewContext(ctx, t.recorded())
}

// FromContext returns the timeline of the request whose span is active in ctx, else the timeline that [NewContext] put
// there, else [ProcessTimeline]. ctx may be nil.
func FromContext(ctx context.Context) *Timeline { return (*Timeline)(record.FromContext(ctx)) }

// NewChild makes a timeline for one request or job, with its own origin (now)
// and its own buffer. Its entries reach the observers of t, too. Close it when the request has ended.
func (t *Timeline) NewChild() *Timeline { return (*Timeline)(t.recorded().NewChild()) }

// Close ends a timeline that NewChild made: its entries are delivered, its observers
// disconnected, and its buffer is emptied. A later entry, of
// a goroutine that outlives the request, still reaches the
// observers of t's parents. Closing twice, or closing a process
// timeline, does nothing.
func (t *Timeline) Close() { t.recorded().Close() }

// Now returns the time since t's origin, on the monotonic clock (High Resolution
// Time, now()).
func (t *Timeline) Now() time.Duration { return t.recorded().Now() }

// Origin returns t's time origin by the wall clock (timeOrigin). It never changes.
func (t *Timeline) Origin() time.Time { return t.recorded().Origin() }

// Since returns the moment at as a time of t: what Now would have returned then.
func (t *Timeline) Since(at time.Time) time.Duration { return t.recorded().Since(at) }

// Deliver calls the observers that have something to be told, now and on the
// calling goroutine. When it returns, all that was recorded before the call has
// been through their callbacks. A program that is about to report or to exit
// wants that; a callback must not call it.
func (t *Timeline) Deliver() { t.recorded().Deliver() }

// Milliseconds returns d as a DOMHighResTimeStamp: milliseconds as a float64.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
