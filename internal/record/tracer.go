package record

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The types of this file are between a timeline and a tracing system. Package bridge implements
// them for OpenTelemetry.

// An ID is the id of a span. The zero ID names none.
type ID [8]byte

// SpanIDs say where an entry belongs in a trace.
type SpanIDs struct {
	Trace  [16]byte
	Self   ID // the span that the entry is; zero for a mark, and for a measure that is no span yet
	Parent ID // the span that it was recorded under

	// ObserversOnly says that the entry was recorded for observers alone, and is in no trace: its
	// parent is not sampled.
	ObserversOnly bool
}

// A Tracer makes spans of what is recorded on a process timeline and its units. Its methods are
// called on the goroutine that records, and concurrently. They must not block or panic. A span that
// they get is the active span of a context, or nil.
type Tracer interface {
	// Under returns the destination of entries under a span that is not an Active: another tracer
	// made it.
	Under(span any) Destination

	// IDs returns the ids of a span, for entries under it. They are zero if it is not recorded.
	IDs(span any) SpanIDs

	// Mark takes a mark under a span, at once. The attributes are frozen, and valid during the
	// call.
	Mark(span any, name string, at time.Time, attrs []slog.Attr)

	// TakesLooseMarks reports whether Mark takes marks under no span, too. Otherwise they stay on
	// the timeline.
	TakesLooseMarks() bool

	// Measure takes a measure under a span, at once.
	Measure(span any, m Measured)

	// Start starts a span under the span in ctx, whose place has the destination to. It returns nil
	// and ctx if it makes none.
	Start(ctx context.Context, to Destination, name string, start time.Time) (context.Context,
		Opened)
}

// An Active is a span in a context whose tracer uses units.
type Active interface {
	// Place returns the parts of the [Place] of entries under the span. A whole Place would be
	// copied.
	Place() (*Timeline, Span, Destination, Tracer)

	// Unit returns the span's unit.
	Unit() *Unit
}

// A Measured is a measure that has ended.
type Measured struct {
	Name     string
	Start    time.Time
	Duration time.Duration // negative if it ended before its start
	Attrs    []slog.Attr   // frozen; valid during the call
	Failure  *Failure      // nil if it did not fail
}

// A Failure says why a measure failed.
type Failure struct {
	At            time.Time
	Type, Message string // of the error
}

// An Opened is a span of a measure that has begun. Its last call is End.
type Opened interface {
	// IDs returns the ids of the span. They are zero if it is not recorded.
	IDs() SpanIDs

	Fail(Failure)

	// End ends the span. It returns a span that was started ToUnit, for its unit's EndSpan. Other
	// spans get the attributes, which are frozen, and valid during the call.
	End(at time.Time, attrs []slog.Attr) Span
}

// Keys of attributes that say what a root span stands for. Their value is true.
const (
	JobKey    = "perfline.job"    // a unit of work without a request: a cron job, a message
	StreamKey = "perfline.stream" // a request that lasts as long as its client stays
)

// A Destination says where marks and measures go, beside observers.
type Destination uint8

// The destinations.
const (
	ToTimeline Destination = iota // the timeline; and measures to the tracer
	// only observers and those that made the timeline, because the span is not recorded
	ToObservers
	ToUnit  // the timeline; its receiver gets them with the unit's next part
	ToSpan  // the timeline and the tracer
	ToMeter // only the meter, which counts a measure that nothing else wants
)

// A Place is where the entries under a context go.
type Place struct {
	Timeline *Timeline
	Span     Span // the active span of the unit; nil without one
	To       Destination
	Tracer   Tracer // nil without one
	Under    any    // the active span, for the tracer

	contents int  // of the attributes that are being recorded
	queued   bool // the entry that is being recorded was made before
}

// spanKey is OpenTelemetry's key of the active span in a context, or nil.
var spanKey atomic.Pointer[any]

// SetSpanKey sets the key of the active span in a context, for all tracers of the process.
func SetSpanKey(key any) { spanKey.Store(&key) }

// Locate sets p to the place of entries under ctx, which may be nil. To return a Place would take
// longer: Go copies it several times.
func (p *Place) Locate(ctx context.Context) {
	if ctx == nil {
		p.locateRoot(defaultTimeline)
		return
	}
	if key := spanKey.Load(); key != nil {
		if span := ctx.Value(*key); span != nil {
			if active, ok := span.(Active); ok {
				p.Timeline, p.Span, p.To, p.Tracer = active.Place()
				p.Under = span
				return
			}
			p.locateRoot(carried(ctx))
			if p.Tracer != nil {
				p.To, p.Under = p.Tracer.Under(span), span
			}
			return
		}
	}
	p.locateRoot(carried(ctx))
}

// locateRoot sets p to the place of entries of t under no span.
func (p *Place) locateRoot(t *Timeline) {
	p.Timeline, p.Span, p.To, p.Tracer, p.Under = t, nil, ToTimeline, nil, nil
	if tracer := t.root.tracers.last.Load(); tracer != nil {
		p.Tracer = *tracer
	}
}

// Wants reports whether entries of type typ are recorded there.
func (p *Place) Wants(typ Type) bool { return p.To != ToObservers || p.Timeline.Observed(typ) }

// Record records an entry at the place that ends now. start is relative to the timeline's origin.
// attrs are frozen: see [Freeze]. An entry of an unknown type is dropped. A start or an end further
// than [MaxTime] from the process timeline's origin becomes the nearest time in range.
//
// Record never blocks, unless a method of an attribute does. It reports false when the entry was
// lost because too many wait, which is counted as Overflow.
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
	if k == kindMeasure && p.metered() {
		return p.end(k, nil, name, start, duration, attrs, nil)
	}
	return p.record(k, name, start, duration, start+duration, attrs)
}

// Queue records an entry that was made before: see [Timeline.Queue].
func (p *Place) Queue(e Entry) bool {
	t := p.Timeline
	switch {
	case e.kind == kindMeasure && p.WantsMeasure(e.name):
	case e.kind == kindNone || !p.Wants(e.Type()):
		return false
	}
	start, duration := e.start, e.duration
	if e.tl.root != t.root { // its times are another clock's
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

// record records an entry whose attributes are frozen. start, and at, when it is recorded, are
// since the root's origin.
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
		var rec journalRecord // Go would copy a literal
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
	atOnce := p.atOnce(k)
	switch {
	case k != kindMark || p.To == ToSpan:
	case atOnce && ok:
		t.root.passedMarks.Add(1)
	case !atOnce && !ok && p.To != ToObservers: // not only observers wanted it
		t.root.lostMarks.Add(1)
	}
	if atOnce {
		p.pass(k, name, start, duration, attrs)
	}
	return ok
}

// On returns the place under the same span on the timeline t.
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
		return under(p.Span.IDs(), k, p.queued)
	case p.To == ToObservers:
		return SpanIDs{ObserversOnly: !kindSet(p.Timeline.always.Load()).has(k)}
	case p.Tracer != nil && p.Under != nil:
		return under(p.Tracer.IDs(p.Under), k, p.queued)
	default:
		return SpanIDs{}
	}
}

// under returns the ids of an entry of kind k under a span with the given ids. A request or a call
// is that span, unless it was queued.
func under(span SpanIDs, k kind, queued bool) SpanIDs {
	if !queued && (k == kindNavigation || k == kindResource) {
		return span
	}
	return SpanIDs{Trace: span.Trace, Parent: span.Self}
}

// atOnce reports whether the tracer takes entries of kind k.
func (p *Place) atOnce(k kind) bool {
	switch k {
	case kindMark:
		return p.Tracer != nil &&
			(p.To == ToSpan || p.To == ToTimeline && p.Tracer.TakesLooseMarks())
	case kindMeasure:
		return p.Tracer != nil && (p.To == ToSpan || p.To == ToTimeline)
	default:
		return false
	}
}

// pass gives an entry to the tracer. It copies the attributes, which would otherwise escape from
// every caller of Record.
//
//go:noinline
func (p *Place) pass(k kind, name string, start, duration time.Duration, attrs []slog.Attr) {
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

// maxCopied is the largest capacity of a list that is used again.
const maxCopied = 64

// attrLists has lists for pass.
var attrLists = sync.Pool{New: func() any { return new([]slog.Attr) }}

// Start starts a span at the place. start is relative to the timeline's origin. Without a tracer,
// Start returns nil and ctx.
func (p *Place) Start(ctx context.Context, name string, start time.Duration) (context.Context,
	Opened) {
	if p.Tracer == nil || p.To == ToObservers || p.To == ToMeter {
		return ctx, nil
	}
	start, _ = interval(p.Timeline.origin, start, 0)
	return p.Tracer.Start(ctx, p.To, Name(name), p.Timeline.anchor(start).Add(start))
}

// End records a measure that has just ended, as Record does, and its span or its failure. The entry
// of a measure that failed has the message as the attribute "error".
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

// end records an entry that ends now. Only a measure has a span, or failed. attrs are frozen. The
// meter gets a measure after everything else: a meter that panics or ends the goroutine takes no
// entry and no span with it.
func (p *Place) end(k kind, span Opened, name string, start, duration time.Duration,
	attrs []slog.Attr, failure *Failure) (ok bool) {
	if p.To != ToMeter {
		ok = p.write(k, span, name, start, duration, attrs, failure)
	}
	if k == kindMeasure {
		p.meter(span, name, duration, attrs, failure)
	}
	return ok
}

// write is end without the meter.
func (p *Place) write(k kind, span Opened, name string, start, duration time.Duration,
	attrs []slog.Attr, failure *Failure) bool {
	switch {
	case span == nil && failure == nil:
		return p.record(k, name, start, duration, start+duration, attrs)
	case span == nil || failure != nil || p.To != ToUnit:
		p.endAtOnce(span, name, start, duration, attrs, failure)
	default:
		if s := span.End(p.Timeline.anchor(start+duration).Add(start+duration), nil); s != nil {
			p.Timeline.unit.EndSpan(s, Measure, attrs)
		}
	}
	return true
}

// endAtOnce records the entry and ends the span separately. It copies the attributes, as pass does.
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
