package record

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// These types connect a timeline to a tracing system. Package bridge connects OpenTelemetry.

// An ID is the id of a span. The zero ID means no span.
type ID [8]byte

// SpanIDs describe the position of an entry in a trace.
type SpanIDs struct {
	Trace  [16]byte
	Self   ID // the entry's own span; zero for a mark, and for a measure without a span
	Parent ID // the span that was active when the entry was recorded

	// ObserversOnly is true under a span that is not sampled. The entry then belongs to no trace.
	ObserversOnly bool
}

// A Tracer creates spans from the entries of a process timeline and of all units of the process
// timeline. The timeline calls the methods concurrently, on the goroutine that records. The methods
// must not block or panic. The argument span is the active span of a context, or nil.
type Tracer interface {
	// Under returns the destination of entries under span. span is the active span of ctx. Another
	// tracer created span, so span does not implement Active. If the result above is not nil, the
	// open span above records the entries in place of span. An Active returns a destination by the
	// method Place.
	Under(ctx context.Context, span any) (above any, to Destination)

	// IDs returns the ids of entries under a span. The ids are zero for an unrecorded span.
	IDs(span any) SpanIDs

	// Mark records a mark under a span. attrs are frozen. The tracer must not use attrs after the
	// call.
	Mark(span any, name string, at time.Time, attrs []slog.Attr)

	// TakesLooseMarks reports whether the timeline must call Mark for marks without a span.
	TakesLooseMarks() bool

	// Measure records a measure under a span.
	Measure(span any, m Measured)

	// Serves gives the unit u the slot of a request with another provider's span: see [Unit]'s
	// TakeMirror. u is the request's.
	Serves(span any, u *Unit)

	// Start starts a child of the span in ctx. The parameter to is the destination of the child. If
	// Start starts no child, the result Opened is nil.
	Start(ctx context.Context, to Destination, name string, start time.Time) (context.Context,
		Opened)
}

// An Active is the active span of a context. Only spans of tracers that use units implement Active.
type Active interface {
	// Place returns four fields of the [Place] of entries under the span. Go would copy a Place, so
	// Place returns the fields separately.
	Place() (*Timeline, Span, Destination, Tracer)

	// Unit returns the unit that contains the span.
	Unit() *Unit
}

// A Measured contains the data of an ended measure.
type Measured struct {
	Name     string
	Start    time.Time
	Duration time.Duration // negative if the measure ended before its start
	Attrs    []slog.Attr   // frozen; valid during the call
	Failure  *Failure      // nil if the measure succeeded
}

// A Failure contains the data of a measure's error.
type Failure struct {
	At            time.Time
	Type, Message string
}

// An Opened is the span of a measure that has begun. The caller must not call methods after End.
type Opened interface {
	// IDs returns the ids of the span, or zero ids if the span is not recorded.
	IDs() SpanIDs

	Fail(Failure)

	// End ends the span. For the destination ToUnit, End returns a span for [Unit.EndSpan]. For
	// other destinations, the span stores attrs. attrs are frozen. The span must not use attrs
	// after the call.
	End(at time.Time, attrs []slog.Attr) Span
}

// Keys of attributes that classify a root span. The value is true.
const (
	JobKey    = "perfline.job"    // a unit of work without a request: a cron job, a message
	StreamKey = "perfline.stream" // a request with a stream as the response
)

// A Destination selects the recipients of marks and measures. Observers always receive both.
type Destination uint8

// The destinations.
const (
	ToTimeline  Destination = iota // the timeline; the tracer takes measures
	ToObservers                    // observers and callers of Keep: the span is not recorded
	ToUnit                         // the unit's journal, for the receiver
	ToSpan                         // the timeline and the tracer
	ToMeter                        // only the meter: nothing else wants the measure
)

// A Place selects the timeline, the span and the tracer for the entries under a context. A Place
// also contains the data that recording needs.
type Place struct {
	Timeline *Timeline
	Span     Span // the active span of the unit, or nil
	To       Destination
	Tracer   Tracer // or nil
	Under    any    // the active span, for the tracer

	contents int  // bytes of the attributes of the current entry
	queued   bool // the current entry was made before its recording
}

// spanKey is OpenTelemetry's context key of the active span, or nil.
var spanKey atomic.Pointer[any]

// SetSpanKey sets the context key of the active span, for all tracers of the process.
func SetSpanKey(key any) { spanKey.Store(&key) }

// Locate sets p to the place of entries under ctx. ctx may be nil. Locate overwrites p, because a
// Place as a result would cost time.
func (p *Place) Locate(ctx context.Context) {
	if ctx == nil {
		p.locateRoot(defaultTimeline)
		return
	}
	var span any
	if key := spanKey.Load(); key != nil {
		span = ctx.Value(*key)
	}
	if active, ok := span.(Active); ok {
		p.Timeline, p.Span, p.To, p.Tracer = active.Place()
		p.Under = span
		if p.To == ToSpan && p.Span != nil { // perhaps a span above
			p.Under = p.Span
		}
		return
	}
	p.locateRoot(ContextTimeline(ctx))
	if span == nil || p.Tracer == nil {
		return
	}
	above, to := p.Tracer.Under(ctx, span)
	p.To, p.Under = to, span
	if above != nil {
		p.Under = above
	}
	if active, ok := above.(Active); ok {
		p.Timeline, p.Span, p.To, p.Tracer = active.Place()
	}
}

// locateRoot sets p to the place of entries of t without a span.
func (p *Place) locateRoot(t *Timeline) {
	p.Timeline, p.Span, p.To, p.Tracer, p.Under = t, nil, ToTimeline, nil, nil
	if tracer := t.root.tracers.last.Load(); tracer != nil {
		p.Tracer = *tracer
	}
}

// Wants reports whether entries of type typ at the place reach a recipient. Recipients are
// observers, callers of [Timeline.Keep] and the tracing system.
func (p *Place) Wants(typ Type) bool { return p.To != ToObservers || p.Timeline.Observed(typ) }

// Record records an entry that ends now, and returns false if the entry is lost. [Timeline.Stats]
// counts a lost entry as Overflow. start is relative to the origin of the timeline. Record freezes
// attrs: see [Freeze].
//
//   - Record drops an entry of an unknown type.
//   - A start or an end further than [MaxTime] from the process timeline's origin becomes the
//     nearest time in range.
//   - Record blocks only if a method of an attribute's value blocks.
func (p *Place) Record(typ Type, name string, start, duration time.Duration,
	attrs []slog.Attr) bool {
	k, ok := kindOf(typ)
	if !ok {
		return false
	}
	name = Name(name)
	start, duration = interval(p.Timeline.origin, start, duration)
	contents, ok := scalars(attrs)
	if !ok {
		return p.freezeAndRecord(k, nil, name, start, duration, attrs, nil)
	}
	p.contents = contents
	if k == kindMeasure && (p.To == ToMeter || p.Timeline.root.meters.last.Load() != nil) {
		return p.end(k, nil, name, start, duration, attrs, nil)
	}
	return p.record(k, name, start, duration, start+duration, attrs) // without the branches of end
}

// Queue records an entry of [Timeline.NewEntry]: see [Timeline.Queue].
func (p *Place) Queue(e Entry) bool {
	t := p.Timeline
	switch {
	case e.kind == kindMeasure && p.WantsMeasure(e.name):
	case e.kind == kindNone || !p.Wants(e.Type()):
		return false
	}
	start, duration := e.start, e.duration
	if e.tl.root != t.root { // its times are of another clock
		start, duration = interval(t.origin, e.StartTime(), e.duration)
	}
	p.contents, p.queued = Contents(e.attrs), true
	ok := p.To != ToMeter && p.record(e.kind, e.name, start, duration, t.root.now(), e.attrs)
	p.queued = false
	if e.kind == kindMeasure {
		p.meter(nil, e.name, duration, e.attrs, nil)
	}
	return ok
}

// record records an entry with frozen attributes. start and at, the time of recording, are since
// the root's origin.
func (p *Place) record(k kind, name string, start, duration, at time.Duration,
	attrs []slog.Attr) (ok bool) {
	t := p.Timeline
	if u := t.unit; p.Span != nil && u != nil && u.receiver != nil {
		gets := getsNothing
		if p.To == ToUnit {
			switch k {
			case kindMark:
				gets = getsMark
			case kindMeasure:
				gets = getsMeasure
			default:
			}
		}
		if gets != getsNothing && u.addUsual(p, k, gets, name, start, duration, at, attrs) {
			return true
		}
		var rec journalRecord // assigned field by field, because Go would copy a literal
		rec.name, rec.span, rec.start, rec.duration, rec.at, rec.kind, rec.gets = name, p.Span,
			start, duration, at, k, gets
		rec.size, rec.queued = recordSize(p.contents), p.queued
		ok = u.add(&rec, attrs)
	} else {
		var e Entry
		e.name, e.start, e.duration, e.at, e.base, e.tl, e.kind = name, start, duration, at,
			t.origin, t, k
		if p.Span != nil || p.Under != nil || p.To == ToObservers {
			e.ids = p.ids(k)
		}
		ok = t.put(&e, attrs)
	}
	traced := p.traces(k)
	switch {
	case k != kindMark || p.To == ToSpan:
	case traced && ok:
		t.root.passedMarks.Add(1)
	case !traced && !ok && p.To != ToObservers:
		t.root.lostMarks.Add(1)
	}
	if traced {
		p.trace(k, name, start, duration, attrs)
	}
	return ok
}

// On returns a place on the timeline t with the same active span as p.
func (p *Place) On(t *Timeline) Place {
	if t == p.Timeline {
		return *p
	}
	q := Place{Timeline: t, To: p.To, Tracer: p.Tracer, Under: p.Under}
	if q.To == ToUnit {
		q.To = ToSpan
	}
	return q
}

// ids returns the ids of an entry of kind k.
func (p *Place) ids(k kind) SpanIDs {
	switch {
	case p.Span != nil:
		return entryIDs(p.Span.IDs(), k, p.queued)
	case p.To == ToObservers:
		return SpanIDs{ObserversOnly: !kindSet(p.Timeline.ownerWants.Load()).has(k)}
	case p.Tracer != nil && p.Under != nil:
		return entryIDs(p.Tracer.IDs(p.Under), k, p.queued)
	}
	return SpanIDs{}
}

// entryIDs returns the ids of an entry of kind k under a span. A request or a call is the span
// itself, unless the entry was queued.
func entryIDs(span SpanIDs, k kind, queued bool) SpanIDs {
	if !queued && (k == kindNavigation || k == kindResource) {
		return span
	}
	return SpanIDs{Trace: span.Trace, Parent: span.Self}
}

// traces reports whether the tracer takes entries of kind k.
func (p *Place) traces(k kind) bool {
	if p.Tracer == nil || p.To != ToSpan && p.To != ToTimeline {
		return false
	}
	return k == kindMeasure || k == kindMark && (p.To == ToSpan || p.Tracer.TakesLooseMarks())
}

// trace gives an entry to the tracer. A copy of the attributes keeps attrs from escaping from every
// caller of Record.
//
//go:noinline
func (p *Place) trace(k kind, name string, start, duration time.Duration, attrs []slog.Attr) {
	copied := attrLists.Get().(*[]slog.Attr)
	*copied = append((*copied)[:0], attrs...)
	at := p.Timeline.anchor(start).Add(start)
	if k == kindMark {
		p.Tracer.Mark(p.Under, name, at, *copied)
	} else {
		p.Tracer.Measure(p.Under,
			Measured{Name: name, Start: at, Duration: duration, Attrs: *copied})
	}
	if cap(*copied) <= maxCopied {
		clear(*copied)
		attrLists.Put(copied)
	}
}

// maxCopied is the largest capacity of a list in attrLists.
const maxCopied = 64

// attrLists pools the lists of trace and measured.
var attrLists = sync.Pool{New: func() any { return new([]slog.Attr) }}

// Start starts a span at the place. start is relative to the origin of the timeline. Start returns
// ctx and nil if the place needs no span, for example without a tracer.
func (p *Place) Start(ctx context.Context, name string, start time.Duration) (context.Context,
	Opened) {
	if p.Tracer == nil || p.To == ToObservers || p.To == ToMeter {
		return ctx, nil
	}
	start, _ = interval(p.Timeline.origin, start, 0)
	return p.Tracer.Start(ctx, p.To, Name(name), p.Timeline.anchor(start).Add(start))
}

// End records a measure that ends now, in the same way as [Place.Record]. End also ends the span of
// the measure. If failure is not nil, the attribute "error" of the entry contains the message of
// failure.
func (p *Place) End(span Opened, name string, start, duration time.Duration, attrs []slog.Attr,
	failure *Failure) {
	name = Name(name)
	start, duration = interval(p.Timeline.origin, start, duration)
	contents, ok := scalars(attrs)
	if !ok {
		p.freezeAndRecord(kindMeasure, span, name, start, duration, attrs, failure)
		return
	}
	p.contents = contents
	p.end(kindMeasure, span, name, start, duration, attrs, failure)
}

// end records an entry that ends now, with frozen attributes. Only a measure has a span or a
// failure. The meter gets the measure last: a meter that panics or ends the goroutine cannot lose
// the entry or the span.
func (p *Place) end(k kind, span Opened, name string, start, duration time.Duration,
	attrs []slog.Attr, failure *Failure) (ok bool) {
	switch {
	case p.To == ToMeter:
	case span == nil && failure == nil:
		ok = p.record(k, name, start, duration, start+duration, attrs)
	case span == nil || failure != nil || p.To != ToUnit:
		p.endAtOnce(span, name, start, duration, attrs, failure)
		ok = true
	default:
		if s := span.End(p.Timeline.anchor(start+duration).Add(start+duration), nil); s != nil {
			p.Timeline.unit.EndSpan(s, Measure, attrs)
		}
		ok = true
	}
	if k == kindMeasure {
		p.meter(span, name, duration, attrs, failure)
	}
	return ok
}

// endAtOnce records the entry and the span separately. endAtOnce copies the attributes, as trace
// does.
//
//go:noinline
func (p *Place) endAtOnce(span Opened, name string, start, duration time.Duration,
	attrs []slog.Attr, failure *Failure) {
	copied := append([]slog.Attr(nil), attrs...)
	shown := copied
	if failure != nil {
		shown = append(slices.Clip(copied), slog.String("error", failure.Message))
	}
	ids := p.ids(kindMeasure)
	if span != nil {
		if own := span.IDs(); own.Self != (ID{}) {
			ids = own
		}
	}
	p.Timeline.put(p.Timeline.newEntry(ids, kindMeasure, name, start, duration, start+duration),
		shown)
	at := p.Timeline.anchor(start).Add(start)
	switch {
	case span != nil:
		if failure != nil {
			span.Fail(*failure)
		}
		if s := span.End(at.Add(duration), copied); s != nil {
			p.Timeline.unit.EndSpan(s, "", copied)
		}
	case p.Tracer != nil && p.To != ToObservers:
		p.Tracer.Measure(p.Under,
			Measured{Name: name, Start: at, Duration: duration, Attrs: copied, Failure: failure})
	}
}
