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

// TimelineOptions configures a process timeline. Package observer documents the fields and their
// zero values.
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

// A Timeline is an observer.Timeline with the methods for recorders. Pointers to the two types
// convert to each other. All methods may be called concurrently.
type Timeline struct {
	root   *root
	parent *Timeline // nil for a process timeline
	unit   *Unit     // whose timeline it is; nil for a process timeline

	origin     time.Duration // since the root's origin
	originTime time.Time     // by the wall clock

	wants  atomic.Uint32 // kindSet some registered observer of this timeline wants
	always atomic.Uint32 // kindSet recorded even if nothing else wants them

	// guards what follows, and the journal of the unit; taken after the root's mu and before the mu of an inlet or a shard
	mu     sync.Mutex
	buffer *entryBuffer // nil while there is nothing in it; see ensureBuffer

	// in order of registration; nil before the first one, as in most units; guarded by root.mu
	observers *[]*Observer
}

// root is what a process timeline and its units share.
type root struct {
	inlets     []inlet
	units      units
	epoch      time.Time
	anchor     atomic.Pointer[time.Time] // wall-clock origin after the clock was stepped
	clock      func() time.Duration      // nil for the monotonic clock
	limit      int                       // entries that the process timeline keeps of each type
	childLimit int
	maxChunks  int64 // that may be in use
	urgentAt   int64 // chunks in use that bring the collection forward
	interval   time.Duration
	scheduler  func(func())
	logger     *slog.Logger

	tracers  attachments[Tracer]
	meters   attachments[Meter]
	watching atomic.Int32  // observers registered on whatever timeline; changed under mu
	passes   atomic.Uint64 // of collect that have begun; changed under mu
	timer    *time.Timer

	// Every call reads the fields above. The fields below change often, and must not evict those
	// above from other cores' caches.
	_ [128]byte

	chunks   sync.Pool
	inFlight atomic.Int64          // chunks in use
	dirty    atomic.Pointer[inlet] // a lock-free stack: many push, and one takes all
	armed    atomic.Bool           // a collection is on its way

	// Entries that found no room in the inlets: of the process timeline, and of units, which only
	// observers miss.
	overflow, unshown [numKinds]atomic.Uint64
	lostMarks         atomic.Uint64
	clockRead         atomic.Int64  // what clock returned last, in nanoseconds
	passedMarks       atomic.Uint64 // marks under no span that a tracer took
	// calls of the program's code that panicked or ended their goroutine
	panics   atomic.Uint64
	panicked sync.Map // the kinds of such code, as Try names them

	_ [128]byte

	mu         sync.Mutex          // guards what follows, every Observer and every observers list
	taken      []*chunk            // scratch of collect
	entries    []*Entry            // scratch of collect
	slab       attrSlab            // of what observers get in one pass
	totals     [numKinds]TypeStats // without the units
	unattached uint64              // marks of the process timeline under no span
	gc         *gcWatch            // nil while garbage collections are not wanted
	ready      []*Observer         // observers whose buffer is not empty, in order of registration
	again      bool                // another collection is wanted; see unlock
	registered uint64              // observers ever registered, for their order
	overdue    bool                // the timer found observers ready while callbacks ran
	// closed when the round of callbacks that runs, or is about to, has ended; nil when there is none
	calling chan struct{}
}

var defaultTimeline = NewTimeline(TimelineOptions{})

// ProcessTimeline returns the process timeline, which exists from the start of the program.
func ProcessTimeline() *Timeline { return defaultTimeline }

// NewTimeline returns a process timeline.
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
	r.maxChunks = int64(
		cmp.Or(max(0, o.MaxPending), defaultMaxPending)+pendingPerChunk-1) / pendingPerChunk
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

// maxInlets bounds the inlets of a process timeline. A hash spreads goroutines over them. With
// eight for each processor, few goroutines meet.
const maxInlets = 512

func limitOr(n, otherwise int) int { return max(0, cmp.Or(n, otherwise)) }

// ContextKey is the key under which a context carries its *Timeline, for types that are contexts
// themselves.
type ContextKey struct{}

// NewContext returns a context that carries t.
func NewContext(ctx context.Context, t *Timeline) context.Context {
	return context.WithValue(ctx, ContextKey{}, t)
}

// FromContext returns the unit of the active span if its tracer uses units, else the timeline that
// ctx carries, else [ProcessTimeline]. ctx may be nil.
func FromContext(ctx context.Context) *Timeline {
	if ctx == nil {
		return defaultTimeline
	}
	if key := spanKey.Load(); key != nil {
		if active, ok := ctx.Value(*key).(Active); ok {
			return &active.Unit().Timeline
		}
	}
	return carried(ctx)
}

// carried returns the timeline that ctx carries, or the default one.
func carried(ctx context.Context) *Timeline {
	if t, ok := ctx.Value(ContextKey{}).(*Timeline); ok && t != nil {
		return t
	}
	return defaultTimeline
}

// Detached returns a context with the values of ctx, but without its active span and the timeline
// of its request. ctx may be nil.
func Detached(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	if t := carried(ctx); t.unit != nil {
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

// HasClock reports whether TimelineOptions.Clock is what Now reads.
func (t *Timeline) HasClock() bool { return t.root.clock != nil }

// Origin returns t's origin by the wall clock. It never changes.
func (t *Timeline) Origin() time.Time { return t.originTime }

// Since returns the moment at as a time of t.
func (t *Timeline) Since(at time.Time) time.Duration { return at.Sub(t.Origin()) }

// wall returns the wall-clock time of a moment of t that is given since the root's origin.
func (t *Timeline) wall(d time.Duration) time.Time {
	if t.unit == nil {
		return t.root.wall(d)
	}
	return t.originTime.Add(d - t.origin)
}

// Parent returns the timeline whose observers get t's entries, too. It is nil for a process
// timeline.
func (t *Timeline) Parent() *Timeline { return t.parent }

// Observed reports whether an observer of t or of a parent, or a caller of Keep, wants entries of
// type typ.
func (t *Timeline) Observed(typ Type) bool {
	always := kindSet(t.always.Load())
	if t.root.watching.Load() == 0 && always == 0 {
		return false
	}
	k, _ := kindOf(typ)
	return always.has(k) || t.watched(k)
}

// Watched reports whether there are any observers, of t or of other timelines of its process
// timeline.
func (t *Timeline) Watched() bool { return t.root.watching.Load() > 0 }

// Keep says that entries of these types are recorded even under a span that is not recorded, for
// the caller to read.
func (t *Timeline) Keep(types ...Type) { t.always.Or(uint32(kindsOf(types))) }

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

// Record records an entry under no span that ends now: see [Place.Record].
func (t *Timeline) Record(typ Type, name string, start, duration time.Duration,
	attrs []slog.Attr) bool {
	var p Place
	p.locateRoot(t)
	return p.Record(typ, name, start, duration, attrs)
}

// NewEntry makes an entry of t without recording it. start is relative to t's origin. attrs are
// frozen: see [Freeze]. An unknown type is an error, and so is a start or an end further than
// [MaxTime] from the process timeline's origin.
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

// newEntry returns an entry of t without attributes. start and at, when it is recorded, are since
// the root's origin.
func (t *Timeline) newEntry(ids SpanIDs, k kind, name string, start, duration,
	at time.Duration) *Entry {
	return &Entry{name: name, start: start, duration: duration, at: at, base: t.origin, tl: t,
		ids: ids, kind: k}
}

// Queue records an entry that was made before ("queue a PerformanceEntry", Performance Timeline 2,
// section 3), under the span active in ctx, also if the entry is of a request or a call. It returns
// false when nothing wanted the entry, or when the entry was lost. If e is of another process
// timeline, times that are out of range on t become the nearest in range.
func (t *Timeline) Queue(ctx context.Context, e Entry) bool {
	var at Place
	at.Locate(ctx)
	p := at.On(t)
	return p.Queue(e)
}

// Show records the entry of a span that another tracing system makes, as of the span's end.
func (t *Timeline) Show(ids SpanIDs, d Description) bool {
	k, ok := kindOf(d.Type)
	if !ok {
		return false
	}
	start, duration := interval(t.origin, t.Since(d.Start), d.End.Sub(d.Start))
	return t.put(t.newEntry(ids, k, Name(d.Name), start, duration, start+duration), d.Attrs)
}

// Close closes a timeline that NewChild made: see [Unit.Close]. It does nothing on other timelines:
// a tracing system ends its own units.
func (t *Timeline) Close() {
	if t.unit != nil && t.unit.receiver == nil {
		t.unit.Close()
	}
}

// hasEnded reports whether the timeline is that of a unit that has ended.
func (t *Timeline) hasEnded() bool { return t.unit != nil && t.unit.hasEnded() }

// Unit returns the unit whose timeline t is, nil for a process timeline.
func (t *Timeline) Unit() *Unit { return t.unit }

// Flush runs a pass: what was recorded is in the observers' buffers when it returns. Callbacks
// still come later.
func (t *Timeline) Flush() {
	r := t.root
	r.lock()
	defer r.unlock()
}
