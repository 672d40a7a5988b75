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
	// BufferSize is the number of entries of each type that the timeline keeps for
	// Entries. Observers get further entries all the same, and [Stats] counts them
	// as BufferFull. Measure also finds the names of dropped marks: twice BufferSize
	// and 1024 of them. 0 means 10 000; negative means none.
	BufferSize int

	// ChildBufferSize is BufferSize for the timelines of requests.
	// 0 means 2 000; negative means none.
	ChildBufferSize int

	// MaxPending bounds the entries that wait for the timeline's pass, of the process's
	// timeline and all its children together. Further entries are lost and counted as
	// Overflow. Each 16 of MaxPending are one chunk of 6 KiB, for at most 24 entries
	// and 60 attributes. 0 means 65 536.
	MaxPending int

	// Interval is the time after which a pass takes waiting entries, unless there are
	// many. A short interval costs CPU, because it wakes an idle process often. 0 means
	// 50 ms.
	Interval time.Duration

	// Scheduler, when set, gets each task of the timeline: a pass that takes the
	// entries and calls observers ("queue a task" in Performance Timeline 2, section
	// 3). The recording call runs Scheduler, which must not block and must not run
	// the task before it returns. At most one task waits at a time. While an observer
	// wants entries of type GC, a goroutine of the runtime's also runs it after each
	// collection. Without a Scheduler, the timeline runs its tasks on a goroutine of its
	// own after Interval.
	Scheduler func(task func())

	// Clock, when set, returns the time since the timeline's origin. It must not go
	// backwards. A timeline with a Clock keeps entries of equal time in the order of
	// recording. Since takes a wall-clock time, and is meaningless then. nil means the
	// monotonic clock.
	Clock func() time.Duration

	// Logger gets the panics of callbacks and the
	// options that are ignored. nil means slog.Default().
	Logger *slog.Logger
}

// A Timeline holds entries and hands them to observers. All its methods may be called concurrently. Package marks records
// on it. Package record has methods for other recorders: a *Timeline converts to a [*record.Timeline].
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
