package record

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// TimelineOptions configures a process timeline: see package observer.
type TimelineOptions struct {
	BufferSize      int
	ChildBufferSize int
	MaxPending      int
	Interval        time.Duration
	Scheduler       func(task func())
	Clock           func() time.Duration
	Logger          *slog.Logger
}

// Defaults of [TimelineOptions].
const (
	defaultBufferSize      = 10_000
	defaultChildBufferSize = 2_000
	defaultMaxPending      = 1 << 16
	defaultInterval        = 50 * time.Millisecond
)

// A Timeline is an observer.Timeline with additional methods for recorders. A pointer to one type
// converts to a pointer to the other type. All methods may be called concurrently.
type Timeline struct {
	root   *root
	parent *Timeline // nil for a process timeline
	unit   *Unit     // that contains the timeline; nil for a process timeline

	origin     time.Duration // since the root's origin
	originTime time.Time     // by the wall clock

	wants      atomic.Uint32 // a kindSet: observers of this timeline want these kinds
	ownerWants atomic.Uint32 // a kindSet: a caller of Keep wants these kinds

	// mu guards buffer, and the journal of the unit. Lock order: the root's mu, mu, an inlet's or a
	// shard's mu.
	mu     sync.Mutex
	buffer *entryBuffer // nil while empty

	observers *[]*Observer // in order of registration; mostly nil; guarded by the root's mu
}

// root is the shared state of a process timeline and its units.
type root struct {
	inlets     []inlet
	units      units
	epoch      time.Time
	anchor     atomic.Pointer[time.Time] // the wall-clock origin, after a step of the wall clock
	clock      func() time.Duration      // nil for the monotonic clock
	limit      int                       // entries of each type in the process timeline's buffer
	childLimit int                       // entries of each type in a unit's buffer
	maxChunks  int64                     // the bound of inFlight
	urgentAt   int64                     // a collection is due at once with so many chunks in use
	interval   time.Duration
	scheduler  func(func())
	logger     *slog.Logger

	tracers  attachments[Tracer]
	meters   attachments[Meter]
	watching atomic.Int32  // the number of registered observers; changed under mu
	passes   atomic.Uint64 // the number of collections that have begun; changed under mu
	timer    *time.Timer

	// Every call reads the fields above. The fields below change often, on other cache lines.
	_ [128]byte

	chunks   sync.Pool
	inFlight atomic.Int64          // chunks in use
	dirty    atomic.Pointer[inlet] // a lock-free stack: many goroutines push, one takes all
	armed    atomic.Bool           // a collection is scheduled

	// Entries without room in the inlets: the process timeline's, and units' entries for observers.
	overflow, observerLosses [numKinds]atomic.Uint64
	lostMarks                atomic.Uint64
	clockRead                atomic.Int64  // the last result of clock, in nanoseconds
	passedMarks              atomic.Uint64 // marks without a span that a tracer took
	panics                   atomic.Uint64 // calls of the program's code that failed: see Panics
	panicked                 sync.Map      // the kinds of such code: see Try

	_ [128]byte

	mu            sync.Mutex          // guards the fields below, every Observer and observers list
	passChunks    []*chunk            // scratch of collect
	passEntries   []*Entry            // scratch of collect
	slab          attrSlab            // attributes for observers in one pass
	totals        [numKinds]TypeStats // without the units
	looseMarks    uint64              // marks of the process timeline without a span
	gc            *gcWatch            // nil while no observer wants garbage collections
	ready         []*Observer         // with entries, in order of registration
	wantsPass     bool                // unlock schedules another collection
	registrations uint64              // of all time, for the order of observers
	overdue       bool                // the timer found ready observers during a round of callbacks
	round         chan struct{}       // closed at the end of the current round of callbacks, or nil
}

var defaultTimeline = NewTimeline(TimelineOptions{})

// ProcessTimeline returns the default process timeline, which exists from the start of the program.
func ProcessTimeline() *Timeline { return defaultTimeline }

// NewTimeline returns a new process timeline.
func NewTimeline(o TimelineOptions) *Timeline {
	r := &root{
		epoch:      time.Now(),
		limit:      limitOr(o.BufferSize, defaultBufferSize),
		childLimit: limitOr(o.ChildBufferSize, defaultChildBufferSize),
		interval:   cmp.Or(max(0, o.Interval), defaultInterval),
		scheduler:  o.Scheduler,
		logger:     SafeLogger(o.Logger),
	}
	if o.Clock != nil {
		r.clock = r.readClock(o.Clock)
	}
	pending := cmp.Or(max(0, o.MaxPending), defaultMaxPending)
	r.maxChunks = int64(pending+pendingPerChunk-1) / pendingPerChunk
	r.urgentAt = max(1, r.maxChunks/16)
	r.chunks.New = func() any { return new(chunk) }
	r.timer = time.AfterFunc(time.Hour, r.onTimer)
	r.timer.Stop()

	n := 1
	if o.Clock == nil {
		for n < 8*runtime.GOMAXPROCS(0) && n < maxInlets {
			n *= 2
		}
	}
	r.inlets = make([]inlet, n)
	r.units.init()
	return &Timeline{root: r, originTime: r.epoch}
}

// maxInlets bounds the inlets of a process timeline. Goroutines are hashed to inlets: with eight
// inlets for each processor, few goroutines share an inlet.
const maxInlets = 512

func limitOr(n, otherwise int) int { return max(0, cmp.Or(n, otherwise)) }

// ContextKey is the context key of a *Timeline, for types that implement context.Context.
type ContextKey struct{}

// NewContext returns a context that carries t.
func NewContext(ctx context.Context, t *Timeline) context.Context {
	return context.WithValue(ctx, ContextKey{}, t)
}

// FromContext returns the timeline for entries under ctx. ctx may be nil. The result is the first
// of these timelines:
//
//   - the unit of the active span, if the tracer of the span uses units
//   - the timeline of [NewContext] in ctx
//   - [ProcessTimeline]
func FromContext(ctx context.Context) *Timeline {
	if ctx == nil {
		return defaultTimeline
	}
	if key := spanKey.Load(); key != nil {
		if active, ok := ctx.Value(*key).(Active); ok {
			return &active.Unit().Timeline
		}
	}
	return ContextTimeline(ctx)
}

// ActiveKey is the context key of the innermost [Active] span. A span of another tracer may begin
// below the Active span. The context then still returns the Active span for this key.
type ActiveKey struct{}

// ActiveAbove returns the innermost [Active] span in ctx, even if a span of another tracer is
// active. If the timeline of ctx is not the span's unit, ActiveAbove returns nil. For example,
// ActiveAbove returns nil after [Detached] and [NewContext].
func ActiveAbove(ctx context.Context) Active {
	active, ok := ctx.Value(ActiveKey{}).(Active)
	if !ok || ContextTimeline(ctx) != &active.Unit().Timeline {
		return nil
	}
	return active
}

// ContextTimeline returns the timeline of [NewContext] in ctx, or the default timeline.
func ContextTimeline(ctx context.Context) *Timeline {
	if t, ok := ctx.Value(ContextKey{}).(*Timeline); ok && t != nil {
		return t
	}
	return defaultTimeline
}

// Detached returns ctx without the active span and without the timeline of the request. ctx may be
// nil.
func Detached(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	if t := ContextTimeline(ctx); t.unit != nil {
		for t.unit != nil {
			t = t.parent
		}
		ctx = NewContext(ctx, t)
	}
	if key := spanKey.Load(); key != nil && ctx.Value(*key) != nil {
		ctx = context.WithValue(ctx, *key, nil)
	}
	return ctx
}

// Now returns the time since t's origin, on the monotonic clock.
func (t *Timeline) Now() time.Duration { return t.root.now() - t.origin }

// HasClock reports whether Now reads the clock TimelineOptions.Clock.
func (t *Timeline) HasClock() bool { return t.root.clock != nil }

// Origin returns the wall-clock time of t's origin. The origin never changes.
func (t *Timeline) Origin() time.Time { return t.originTime }

// Since converts a wall-clock time to a time relative to t's origin.
func (t *Timeline) Since(at time.Time) time.Duration { return at.Sub(t.Origin()) }

// wall converts a time since the root's origin to the wall clock of t.
func (t *Timeline) wall(d time.Duration) time.Time {
	if t.unit == nil {
		return t.root.wall(d)
	}
	return t.originTime.Add(d - t.origin)
}

// Parent returns the parent timeline, or nil for a process timeline. The observers of the parent
// also receive t's entries.
func (t *Timeline) Parent() *Timeline { return t.parent }

// Observed reports whether t collects entries of type typ. t collects the entries for observers of
// t and of t's parents, and for callers of [Timeline.Keep].
func (t *Timeline) Observed(typ Type) bool {
	ownerWants := kindSet(t.ownerWants.Load())
	if t.root.watching.Load() == 0 && ownerWants == 0 {
		return false
	}
	k, _ := kindOf(typ)
	return ownerWants.has(k) || t.watched(k)
}

// Watched reports whether an observer is registered on t's process timeline or on a unit of the
// process timeline.
func (t *Timeline) Watched() bool { return t.root.watching.Load() > 0 }

// Keep adds entry types that t always records, even without an observer. t also records entries of
// these types under a span that is not recorded.
func (t *Timeline) Keep(types ...Type) { t.ownerWants.Or(uint32(kindsOf(types))) }

// watched reports whether an observer of t or of a parent wants entries of kind k.
func (t *Timeline) watched(k kind) bool {
	if t.root.watching.Load() == 0 {
		return false
	}
	for p := t; p != nil; p = p.parent {
		if kindSet(p.wants.Load()).has(k) {
			return true
		}
	}
	return false
}

// Record records an entry without a span. The entry ends now: see [Place.Record].
func (t *Timeline) Record(typ Type, name string, start, duration time.Duration,
	attrs []slog.Attr) bool {
	var p Place
	p.locateRoot(t)
	return p.Record(typ, name, start, duration, attrs)
}

// NewEntry returns an entry of t that is not recorded yet. start is relative to t's origin.
// NewEntry freezes attrs: see [Freeze]. NewEntry returns an error in these cases:
//
//   - the type is unknown
//   - the start or the end is further than [MaxTime] from the origin of the process timeline
func (t *Timeline) NewEntry(typ Type, name string, start, duration time.Duration,
	attrs ...slog.Attr) (Entry, error) {
	k, ok := kindOf(typ)
	if !ok {
		return Entry{}, fmt.Errorf("record: entry type %q of %q: not supported; supported are %v",
			Name(string(typ)), Name(name), SupportedEntryTypes())
	}
	s, d := interval(t.origin, start, duration)
	if s-t.origin != start || d != duration {
		return Entry{}, fmt.Errorf(
			"record: %s %q at %v for %v: must start and end within 146 years of the process timeline's origin", typ, Name(name), start, duration)
	}
	e := t.newEntry(SpanIDs{}, k, Name(name), s, d, 0)
	e.attrs = slices.Clone(Freeze(attrs))
	return *e, nil
}

// newEntry returns an entry without attributes. start and at are since the root's origin.
func (t *Timeline) newEntry(ids SpanIDs, k kind, name string, start, duration,
	at time.Duration) *Entry {
	return &Entry{name: name, start: start, duration: duration, at: at, base: t.origin, tl: t,
		ids: ids, kind: k}
}

// Queue records an entry of [Timeline.NewEntry] under the span that is active in ctx. Queue
// implements "queue a PerformanceEntry" (Performance Timeline 2, section 3). Queue returns false in
// these cases:
//
//   - no observer and no tracing system records the entry
//   - the entry is lost
//
// The active span becomes the parent of the entry, even if the entry is a request or a call. If e
// belongs to another process timeline, a time out of range on t becomes the nearest time in range.
func (t *Timeline) Queue(ctx context.Context, e Entry) bool {
	var p Place
	p.Locate(ctx)
	p = p.On(t)
	return p.Queue(e)
}

// Show records the entry of a finished span, for a tracing system that uses no units. Show returns
// false if d.Type is unknown or the entry is lost.
func (t *Timeline) Show(ids SpanIDs, d Description) bool {
	k, ok := kindOf(d.Type)
	if !ok {
		return false
	}
	start, duration := interval(t.origin, t.Since(d.Start), d.End.Sub(d.Start))
	return t.put(t.newEntry(ids, k, Name(d.Name), start, duration, start+duration), d.Attrs)
}

// Close closes a timeline of NewChild: see [Unit.Close]. Do not close the units of a tracing
// system, because the tracing system ends these units.
func (t *Timeline) Close() {
	if t.unit != nil && t.unit.receiver == nil {
		t.unit.Close()
	}
}

// hasEnded reports whether the timeline is a unit that has ended.
func (t *Timeline) hasEnded() bool { return t.unit != nil && t.unit.hasEnded() }

// Unit returns the unit that contains t, or nil for a process timeline.
func (t *Timeline) Unit() *Unit { return t.unit }

// Flush moves all entries that were recorded before the call to the buffers of the observers. The
// callbacks run later.
func (t *Timeline) Flush() {
	r := t.root
	r.lock()
	defer r.unlock()
}
