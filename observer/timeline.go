package observer

import (
	"context"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// TimelineOptions configures [NewTimeline]. The default timeline has the zero value.
type TimelineOptions struct {
	// BufferSize is the maximum number of entries of each type in the timeline's buffer. Further
	// entries still reach observers, and count as BufferFull in [Stats]. Measure also finds
	// 2*BufferSize + 1024 names of marks without room. 0 means 10 000; negative means none.
	BufferSize int

	// ChildBufferSize is BufferSize for requests' timelines. 0 means 2 000; negative means none.
	ChildBufferSize int

	// MaxPending bounds the entries that wait for the timeline's next pass, of the process's
	// timeline and all its children. Further entries are lost and count as Overflow. Each 16 of
	// MaxPending are one chunk of 6 KiB, for up to 24 entries and 60 attributes. 0 means 65 536.
	MaxPending int

	// Interval is the time until a pass, unless many entries wait. A short interval costs CPU,
	// because it often wakes an idle process. 0 means 50 ms.
	Interval time.Duration

	// Scheduler, when set, gets each task of the timeline: a pass that takes the entries and calls
	// observers ("queue a task" in Performance Timeline 2, section 3). Scheduler must not block,
	// and must not run the task before Scheduler returns. The caller is the recording call, or,
	// while an observer wants entries of type GC, a goroutine of the runtime after a garbage
	// collection. At most one task waits at a time. nil means that the timeline runs its tasks on
	// its own goroutine after Interval.
	Scheduler func(task func())

	// Clock, when set, returns the time since the timeline's origin. The time must not go
	// backwards. Entries of equal time stay in the order of recording. Since is meaningless with a
	// Clock, because Since converts a wall-clock time. nil means the monotonic clock.
	Clock func() time.Duration

	// Logger gets the panics of callbacks and the ignored options. nil means slog.Default().
	Logger *slog.Logger
}

// A Timeline holds entries and delivers them to observers. Package marks records on a Timeline. All
// methods may be called concurrently.
type Timeline record.Timeline

func (t *Timeline) engine() *record.Timeline { return (*record.Timeline)(t) }

// ProcessTimeline returns the process timeline, which exists from the start of the program.
func ProcessTimeline() *Timeline { return (*Timeline)(record.ProcessTimeline()) }

// NewTimeline returns a process timeline for a test, or for a program with several. A timeline
// without entries runs no goroutine. A process timeline needs no Close.
func NewTimeline(o TimelineOptions) *Timeline {
	return (*Timeline)(record.NewTimeline(record.TimelineOptions(o)))
}

// NewContext returns a context that carries t.
func NewContext(ctx context.Context, t *Timeline) context.Context {
	return record.NewContext(ctx, t.engine())
}

// FromContext returns the timeline of the request whose span is active in ctx, or else the timeline
// of [NewContext], or else [ProcessTimeline]. ctx may be nil.
func FromContext(ctx context.Context) *Timeline { return (*Timeline)(record.FromContext(ctx)) }

// NewChild returns a timeline for one request or job, with its own origin (now) and its own buffer.
// Observers of t also get its entries. Close the timeline at the end of the request.
func (t *Timeline) NewChild() *Timeline { return (*Timeline)(t.engine().NewChild()) }

// Close ends a timeline of NewChild: Close delivers its entries, disconnects its observers, and
// empties its buffer. A later entry, of a goroutine that outlives the request, still reaches the
// observers of t's parents. A second Close, or a Close of a process timeline, does nothing.
func (t *Timeline) Close() { t.engine().Close() }

// Now returns the time since t's origin, on the monotonic clock (High Resolution Time, now()).
func (t *Timeline) Now() time.Duration { return t.engine().Now() }

// Origin returns t's time origin by the wall clock (timeOrigin), which never changes.
func (t *Timeline) Origin() time.Time { return t.engine().Origin() }

// Since converts a time of the wall clock to a time of t, as Now would have returned it.
func (t *Timeline) Since(at time.Time) time.Duration { return t.engine().Since(at) }

// Deliver calls the observers on the calling goroutine. When Deliver returns, the callbacks have
// had all entries of before the call. Call Deliver before a report or an exit, and never in a
// callback.
func (t *Timeline) Deliver() { t.engine().Deliver() }
