package bridge

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
)

const (
	// maxPendingMarks bounds the marks that wait for their spans' end, and
	// maxPendingAge is how long they may wait.
	maxPendingMarks = 1 << 16
	maxPendingAge   = 15 * time.Minute
	// sweepInterval is how often the worker looks for marks that no span will
	// take, and how long a span that has ended may take to arrive.
	sweepInterval = time.Second
)

// A worker turns entries into spans and events. It belongs to one goroutine.
type worker struct {
	hub     *hub
	empty   sdktrace.ReadOnlySpan
	slab    slab
	pending map[trace.SpanID]*pendingSpan
	batch   *batch    // of this pass
	marks   int       // in pending
	now     time.Time // when this pass began
	arrived []finish  // ended in this pass
	waiting []finish  // ended in the last pass: due at the end of this one
	swept   time.Time
	last    owner          // of the last entry
	done    []trace.SpanID // handed over in this pass
	cleared []trace.SpanID // handed over in the last pass: forgotten at the end of this one
}

// pendingSpan collects the marks of a span until it has ended.
type pendingSpan struct {
	span    trace.Span
	events  []sdktrace.Event
	limited int // events over the limit
	since   time.Time
	ended   bool      // its end has arrived
	gone    time.Time // when it was seen to have ended though its end had not arrived
	done    time.Time // when the first of its processors was handed it; zero before
	due     int       // processors that were not, from then on
}

// finish is a span that has ended: one of the SDK's, or one that marks.Start
// began, with the measure that ended it.
type finish struct {
	ended   *postedSpan
	started *startedSpan
	measure *finishedSpan
}

// postedSpan is the message of a Processor's OnEnd.
type postedSpan struct {
	span sdktrace.ReadOnlySpan
	to   *Processor
}

// pass handles what one collection brought. A span that ended in it waits until
// the end of the next: a mark made before that End on another core may come
// only then.
func (w *worker) pass(b *batch) {
	w.now = time.Now()
	w.batch = b
	for i := range b.items {
		e := &b.items[i]
		switch e.typ {
		case observer.Mark:
			w.mark(e)
		case observer.Measure:
			w.measure(e)
		default:
			if m, ok := e.scope.(*postedSpan); ok {
				w.arrive(m.span.SpanContext().SpanID(), finish{ended: m})
			}
		}
	}
	for _, f := range w.waiting {
		if f.ended != nil {
			w.finishSDK(f.ended)
		} else {
			w.finishStarted(f.started, f.measure)
		}
	}
	clear(w.waiting)
	w.arrived, w.waiting = w.waiting[:0], w.arrived
	w.last = owner{}
	w.clearDone()
	if w.now.Sub(w.swept) >= sweepInterval {
		w.sweep(w.now)
	}
}

func (w *worker) arrive(id trace.SpanID, f finish) {
	w.arrived = append(w.arrived, f)
	if p := w.pending[id]; p != nil {
		p.ended = true
	}
}

// An owner is what the worker must know of the span that an entry is under.
type owner struct {
	scope    any // the span
	targets  *targets
	sc       trace.SpanContext
	resource *resource.Resource
	to       []*Processor
	pending  *pendingSpan // nil before its first mark
}

// owner finds the owner of entries under a span. Entries come mostly in runs
// under one span, so that the last one is remembered.
func (w *worker) owner(span trace.Span) *owner {
	t := w.hub.targets.Load()
	// Only pointers are compared: a span may be of a type that cannot be.
	if typ := reflect.TypeOf(span); typ.Kind() == reflect.Pointer && w.last.targets == t && w.last.scope == any(span) {
		return &w.last
	}
	anchor, to := w.hub.owners(span)
	w.last = owner{scope: span, targets: t, sc: span.SpanContext(), to: to}
	if len(to) > 0 {
		w.last.resource = anchor.Resource()
		w.last.pending = w.pending[w.last.sc.SpanID()]
	}
	return &w.last
}

func (w *worker) mark(e *item) {
	span, ok := e.scope.(trace.Span)
	if !ok {
		return
	}
	o := w.owner(span)
	if o.sc.IsRemote() || len(o.to) == 0 {
		w.hub.stats.unattached.Add(1)
		return
	}
	if o.pending == nil {
		o.pending = &pendingSpan{span: span, since: w.now, events: make([]sdktrace.Event, 0, 8)}
		w.pending[o.sc.SpanID()] = o.pending
	}
	p := o.pending
	if !p.done.IsZero() {
		w.hub.stats.late.Add(1)
		return
	}
	limits := &o.to[0].limits
	if limit := limits.EventCountLimit; limit >= 0 && len(p.events) >= limit {
		// The SDK drops the oldest event of a span, so that the end is seen.
		w.hub.stats.limited.Add(1)
		p.limited++
		if limit == 0 {
			return
		}
		p.events = p.events[1:]
		w.marks--
	}
	p.events = append(p.events, w.event(e, limits))
	w.marks++
	if w.marks > maxPendingMarks {
		w.sweep(w.now)
		w.dropOldest(maxPendingMarks * 7 / 8)
	}
}

// event is what a mark becomes.
func (w *worker) event(e *item, l *sdktrace.SpanLimits) sdktrace.Event {
	attrs, dropped := w.slab.attributes(w.batch.detail(e), l.AttributePerEventCountLimit, l.AttributeValueLengthLimit)
	return sdktrace.Event{Name: e.name, Attributes: attrs, DroppedAttributeCount: dropped, Time: e.start}
}

func (w *worker) measure(e *item) {
	switch s := e.scope.(type) {
	case nil:
		w.viaTracer(trace.SpanFromContext(context.Background()), e)
	case *ending:
		started := (*startedSpan)(s)
		f := w.span(e, started.to[0])
		f.id, f.parent, f.resource = started.sc.SpanID(), started.parent, started.anchor.Resource()
		w.arrive(f.id, finish{started: started, measure: f})
	case *openedSpan:
		if s.by != nil && s.by.stopped.Load() {
			w.hub.stats.unmade.Add(1)
			return
		}
		attrs, _ := w.slab.attributes(w.batch.detail(e), -1, -1) // the SDK applies its own limits
		s.span.SetAttributes(attrs...)
		s.span.End(trace.WithTimestamp(e.start.Add(e.duration)))
	case trace.Span:
		o := w.owner(s)
		if o.sc.IsRemote() || len(o.to) == 0 {
			w.viaTracer(s, e)
			return
		}
		if !o.sc.IsSampled() {
			return
		}
		f := w.span(e, o.to[0])
		f.id, f.parent, f.resource = newSpanID(), o.sc, o.resource
		w.handOver(f, o.to)
	}
}

// span makes a span of a measure, but for its place in the trace.
func (w *worker) span(e *item, p *Processor) *finishedSpan {
	attrs, dropped := w.slab.attributes(w.batch.detail(e), p.limits.AttributeCountLimit, p.limits.AttributeValueLengthLimit)
	start, end := e.span()
	return &finishedSpan{
		ReadOnlySpan: w.empty,
		name:         e.name,
		start:        start,
		length:       end.Sub(start),
		attrs:        attrs,
		droppedAttrs: dropped,
	}
}

// viaTracer makes a span of a measure where there is no span of the SDK's to
// hang it on, and lets the tracer's sampler decide.
func (w *worker) viaTracer(parent trace.Span, e *item) {
	tracer, _ := w.hub.tracer(parent)
	if tracer == nil {
		w.hub.stats.unmade.Add(1)
		return
	}
	recordSpan(trace.ContextWithSpan(context.Background(), parent), tracer, e, w.batch.detail(e))
}

func (w *worker) handOver(f *finishedSpan, to []*Processor) {
	w.hub.stats.measures.Add(1)
	for _, p := range to {
		p.next.OnEnd(f)
	}
}

// finishSDK hands over a span of the SDK's with its marks.
func (w *worker) finishSDK(m *postedSpan) {
	w.hub.stats.spans.Add(1)
	id := m.span.SpanContext().SpanID()
	p := w.pending[id]
	if p == nil || (len(p.events) == 0 && p.limited == 0) {
		m.to.next.OnEnd(m.span)
		return
	}
	if p.done.IsZero() { // a provider with two processors ends each span twice
		p.due = len(w.hub.targets.Load().by[m.to.provider.Load()])
	}
	events, dropped := w.merge(id, p, slices.Clone(m.span.Events()), m.span.EndTime(), m.to)
	m.to.next.OnEnd(&mergedSpan{ReadOnlySpan: m.span, events: events, dropped: m.span.DroppedEvents() + dropped})
}

// finishStarted hands over a span that marks.Start began.
func (w *worker) finishStarted(s *startedSpan, f *finishedSpan) {
	var own []sdktrace.Event
	s.over.Store(true)
	f.more = &extras{}
	s.mu.Lock()
	if a := s.added; a != nil {
		if a.name != "" {
			f.name = a.name
		}
		l := &s.to[0].limits
		var dropped int
		f.attrs, dropped = limited(unique(append(f.attrs[:len(f.attrs):len(f.attrs)], a.attrs...)), l.AttributeCountLimit, l.AttributeValueLengthLimit)
		f.droppedAttrs += dropped
		for i := range a.events {
			e := &a.events[i]
			e.Attributes, e.DroppedAttributeCount = limited(unique(e.Attributes), l.AttributePerEventCountLimit, l.AttributeValueLengthLimit)
		}
		f.more.status, f.more.links, own = a.status, a.links, a.events
	}
	s.mu.Unlock()
	if p := w.pending[f.id]; p != nil || len(own) > 0 {
		if p == nil {
			p = &pendingSpan{}
		}
		p.due = 1 // all its processors get it from here
		f.more.events, f.more.droppedEvents = w.merge(f.id, p, own, f.EndTime(), s.to[0])
	}
	w.handOver(f, s.to)
}

// merge puts p's marks among a span's own events and counts what became of them.
func (w *worker) merge(id trace.SpanID, p *pendingSpan, own []sdktrace.Event, end time.Time, to *Processor) ([]sdktrace.Event, int) {
	marks := p.events
	p.due--
	if p.due > 0 {
		marks = slices.Clone(marks) // the next one's
	} else {
		w.marks -= len(p.events)
		p.events = nil
	}
	events, c := mergeEvents(own, marks, end, to.limits.EventCountLimit)
	if p.done.IsZero() {
		w.hub.stats.late.Add(uint64(c.late))
		w.hub.stats.limited.Add(uint64(c.droppedMarks))
		w.hub.stats.events.Add(uint64(c.marks))
		p.done = w.now
		p.span = nil // of an idle process nothing may keep it
	}
	if p.due <= 0 {
		w.done = append(w.done, id)
	}
	return events, c.droppedMarks + c.droppedOwn + p.limited
}

// clearDone forgets the spans that all their processors were handed before this
// pass: later marks are late.
func (w *worker) clearDone() {
	for _, id := range w.cleared {
		if p := w.pending[id]; p != nil {
			w.forget(id, p, nil)
		}
	}
	w.cleared, w.done = w.done, w.cleared[:0]
}

// sweep forgets spans that were handed over, and marks that no span will take:
// those made after their span's end, and those that have waited too long.
func (w *worker) sweep(now time.Time) {
	w.swept = now
	for id, p := range w.pending {
		switch {
		case !p.done.IsZero():
			if now.Sub(p.done) >= sweepInterval { // a second processor that is gone
				w.forget(id, p, nil)
			}
		case p.ended:
		case now.Sub(p.since) > maxPendingAge:
			w.forget(id, p, &w.hub.stats.agedOut)
		case !p.gone.IsZero() && now.Sub(p.gone) >= sweepInterval:
			w.forget(id, p, &w.hub.stats.late)
		case p.gone.IsZero() && !p.span.IsRecording():
			p.gone = now
		}
	}
}

// forget drops a span's marks and counts them as lost by a cause.
func (w *worker) forget(id trace.SpanID, p *pendingSpan, lost *atomic.Uint64) {
	if lost != nil {
		lost.Add(uint64(len(p.events)))
	}
	w.marks -= len(p.events)
	delete(w.pending, id)
	if w.last.pending == p {
		w.last = owner{}
	}
}

// dropOldest makes room by dropping the marks that have waited longest.
func (w *worker) dropOldest(room int) {
	if w.marks <= room {
		return
	}
	ids := slices.SortedFunc(maps.Keys(w.pending), func(a, b trace.SpanID) int {
		return w.pending[a].since.Compare(w.pending[b].since)
	})
	for _, id := range ids {
		if w.marks <= room {
			return
		}
		p := w.pending[id]
		if p.done.IsZero() {
			w.forget(id, p, &w.hub.stats.agedOut)
		} else {
			w.forget(id, p, nil)
		}
	}
}

// abandon counts what waits when no processor is left to take it.
func (w *worker) abandon() {
	for id, p := range w.pending {
		switch {
		case !p.done.IsZero():
			w.forget(id, p, nil)
		case p.span.IsRecording():
			w.forget(id, p, &w.hub.stats.agedOut)
		default:
			w.forget(id, p, &w.hub.stats.late)
		}
	}
}
