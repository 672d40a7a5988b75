package observer

import (
	"context"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// TimelineOptions configures [NewTimeline]. The zero value is what the default
// timeline uses.
type TimelineOptions struct {
	// BufferSize is the number of entries of each type that the timeline keeps for Entries.
	// Observers get further entries, too, and [Stats] counts these as BufferFull. Measure also
	// finds 2*BufferSize + 1024 names of marks that were not kept. 0 means 10 000; negative
	// means none.
	BufferSize int

	// ChildBufferSize is BufferSize for the timelines of requests.
	// 0 means 2 000; negative means none.
	ChildBufferSize int

	// MaxPending bounds the entries of the process's timeline and all its children that wait
	// for the timeline's pass. Further entries are lost and counted as Overflow. Each 16 of
	// MaxPending are one chunk of 6 KiB, for up to 24 entries and 60 attributes. 0 means 65 536.
	MaxPending int

	// Interval is how long entries wait for a pass, unless there are many. A short interval
	// costs CPU, because it wakes an idle process often. 0 means 50 ms.
	Interval time.Duration

	// Scheduler, when set, gets each task of the timeline: a pass that takes the entries and
	// calls observers ("queue a task" in Performance Timeline 2, section 3). The recording call
	// runs Scheduler, which must not block and must not run the task before it returns. So does
	// a goroutine of the runtime after each garbage collection, while an observer wants entries
	// of type GC. At most one task waits at a time. nil means that the timeline runs its tasks
	// on a goroutine of its own after Interval.
	Scheduler func(task func())

	// Clock, when set, returns the time since the timeline's origin. It must not go backwards.
	// Entries of equal time stay in the order of recording. Since is meaningless with a Clock,
	// because it takes a wall-clock time. nil means the monotonic clock.
	Clock func() time.Duration

	// Logger gets the panics of callbacks and the options that are ignored. nil means
	// slog.Default().
	Logger *slog.Logger
}

// A Timeline holds entries and hands them to observers. All its methods may be called concurrently.
// Package marks records on it.
type Timeline record.Timeline

func (t *Timeline) recorded() *record.Timeline { return (*record.Timeline)(t) }

// ProcessTimeline returns the process timeline. It exists from the start of the program.
func ProcessTimeline() *Timeline { return (*Timeline)(record.ProcessTimeline()) }

// NewTimeline makes a process timeline for tests, and for a program that must not share the
// default one. It runs no goroutine while nothing is recorded, and needs no closing.
func NewTimeline(o TimelineOptions) *Timeline {
	return (*Timeline)(record.NewTimeline(record.TimelineOptions(o)))
}

// NewContext returns a context that carries t.
func NewContext(ctx context.Context, t *Timeline) context.Context {
	return record.NewContext(ctx, t.recorded())
}

// FromContext returns the timeline of the request whose span is active in ctx, else the timeline
// that [NewContext] put there, else [ProcessTimeline]. ctx may be nil.
func FromContext(ctx context.Context) *Timeline { return (*Timeline)(record.FromContext(ctx)) }

// NewChild makes a timeline for one request or job, with its own origin (now) and its own buffer.
// Its entries reach the observers of t, too. Close it when the request has ended.
func (t *Timeline) NewChild() *Timeline { return (*Timeline)(t.recorded().NewChild()) }

// Close ends a timeline that NewChild made: its entries are delivered, its observers
// disconnected, and its buffer is emptied. A later entry, of a goroutine that outlives the
// request, still reaches the observers of t's parents. Closing twice, or closing a process
// timeline, does nothing.
func (t *Timeline) Close() { t.recorded().Close() }

// Now returns the time since t's origin, on the monotonic clock (High Resolution Time, now()).
func (t *Timeline) Now() time.Duration { return t.recorded().Now() }

// Origin returns t's time origin by the wall clock (timeOrigin). It never changes.
func (t *Timeline) Origin() time.Time { return t.recorded().Origin() }

// Since returns the moment at as a time of t: what Now would have returned then.
func (t *Timeline) Since(at time.Time) time.Duration { return t.recorded().Since(at) }

// Deliver calls the observers now, on the calling goroutine. When it returns, their callbacks
// have had everything that was recorded before the call. Call it before a report or an exit, and
// never in a callback.
func (t *Timeline) Deliver() { t.recorded().Deliver() }

// Milliseconds returns d as a DOMHighResTimeStamp: milliseconds as a float64.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
