package observer

import (
	"context"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// TimelineOptions configures a timeline of [NewTimeline]. The zero value selects the defaults.
type TimelineOptions struct {
	// BufferSize limits the number of entries of each type in the timeline's buffer. Entries above
	// the limit still reach observers, and count as BufferFull in [Stats]. Measure also finds up to
	// 2*BufferSize + 1024 names of marks that did not fit. 0 means 10 000. A negative value means
	// no entries.
	BufferSize int

	// ChildBufferSize is the BufferSize of requests' timelines. 0 means 2 000. A negative value
	// means no entries.
	ChildBufferSize int

	// MaxPending limits the number of entries that wait for the timeline's next pass. The limit
	// covers the process timeline and all children. Entries above the limit are lost and count as
	// Overflow. For each 16 of MaxPending, the timeline may use one chunk of 6 KiB. A chunk stores
	// up to 24 entries and 60 attributes. 0 means 65 536.
	MaxPending int

	// Interval is the time between an entry and the next pass. If many entries wait, the pass
	// starts earlier. A short interval costs CPU, because the timer often wakes an idle process. 0
	// means 50 ms.
	Interval time.Duration

	// Scheduler, if set, schedules the tasks of the timeline ("queue a task" in Performance
	// Timeline 2, section 3). A task collects the waiting entries and calls the observers.
	// Scheduler must not block, and must not run the task before Scheduler returns. At most one
	// task waits at a time. Scheduler runs on the goroutine that records an entry. While an
	// observer requests the type GC, a goroutine of the runtime also calls Scheduler after a
	// garbage collection. nil means that the timeline runs each task on a goroutine of the timeline
	// after Interval.
	Scheduler func(task func())

	// Clock, if set, returns the time since the timeline's origin. The time must not go backwards.
	// Entries with equal times stay in the order of recording. Do not use Since together with a
	// Clock, because Since converts a wall-clock time. nil means the monotonic clock.
	Clock func() time.Duration

	// Logger receives reports of ignored options and of panics in callbacks. nil means
	// slog.Default().
	Logger *slog.Logger
}

// A Timeline stores entries and delivers the entries to observers. The functions of package marks
// record entries on a Timeline. All methods may be called concurrently.
type Timeline record.Timeline

func (t *Timeline) engine() *record.Timeline { return (*record.Timeline)(t) }

// ProcessTimeline returns the default process timeline. The timeline exists from the start of the
// program.
func ProcessTimeline() *Timeline { return (*Timeline)(record.ProcessTimeline()) }

// NewTimeline returns a new process timeline, for a test or for a program with several process
// timelines. A timeline without entries runs no goroutine. A process timeline needs no Close.
func NewTimeline(o TimelineOptions) *Timeline {
	return (*Timeline)(record.NewTimeline(record.TimelineOptions(o)))
}

// NewContext returns a child of ctx that carries the timeline t. See [FromContext].
func NewContext(ctx context.Context, t *Timeline) context.Context {
	return record.NewContext(ctx, t.engine())
}

// FromContext returns the timeline for entries that are recorded with ctx. The result is the first
// of these timelines that exists:
//
//   - the timeline of the request that contains the active span of ctx
//   - the timeline that [NewContext] stored in ctx
//   - [ProcessTimeline]
//
// ctx may be nil.
func FromContext(ctx context.Context) *Timeline { return (*Timeline)(record.FromContext(ctx)) }

// NewChild returns a timeline for one request or job. The child's origin is the current time. The
// child stores entries in a separate buffer. Observers of t also receive the entries of the child.
// Close the child at the end of the request.
func (t *Timeline) NewChild() *Timeline { return (*Timeline)(t.engine().NewChild()) }

// Close ends a timeline that NewChild returned. Close delivers the waiting entries, disconnects the
// observers of t, and empties the buffer of t. Goroutines may still record entries on t after
// Close. The observers of the parent timelines receive these later entries. A second Close does
// nothing. Close of a process timeline does nothing.
func (t *Timeline) Close() { t.engine().Close() }

// Now returns the time since t's origin, on the monotonic clock (High Resolution Time, now()).
func (t *Timeline) Now() time.Duration { return t.engine().Now() }

// Origin returns the time origin of t by the wall clock (timeOrigin). The origin of a timeline
// never changes.
func (t *Timeline) Origin() time.Time { return t.engine().Origin() }

// Since returns the time from the origin of t to the wall-clock time at. For the current time,
// Since returns the same value as Now.
func (t *Timeline) Since(at time.Time) time.Duration { return t.engine().Since(at) }

// Deliver calls the callbacks of the observers on the calling goroutine. Before Deliver returns,
// the callbacks receive all entries that were recorded before the call. Call Deliver before a
// report or an exit. Never call Deliver in a callback.
func (t *Timeline) Deliver() { t.engine().Deliver() }
