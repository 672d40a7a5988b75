package bridge

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/attributes"
	"github.com/perfline/perfline/internal/keep"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
)

// A receiver receives the units of a provider.
type receiver struct{ provider *TracerProvider }

var _ record.Receiver = receiver{}

func (r receiver) MarkLimit() int {
	if r.provider.logs.replacesEvents() && len(r.provider.recorders) == 0 {
		return 0 // no output receives events
	}
	return r.provider.limits.EventCountLimit
}

func (r receiver) TakesMarks() record.MarksTaken { return r.provider.logs.logMarks() }

func (s *recordedSpan) Size() int {
	size := int(unsafe.Sizeof(*s))
	if s.object != nil {
		size = int(unsafe.Sizeof(*s.object))
	}
	size += len(s.name) + len(s.status.Description) + attributes.Size(s.attributes)
	if s.request != nil {
		size += s.request.Size()
	}
	d := s.readDetails()
	for i := range d.events.values {
		e := &d.events.values[i]
		size += int(unsafe.Sizeof(*e)) + len(e.Name) + attributes.Size(e.Attributes)
	}
	for i := range d.links.values {
		l := &d.links.values[i]
		state := l.SpanContext.TraceState() // a list of keys and values
		size += int(unsafe.Sizeof(*l)) + attributes.Size(l.Attributes) +
			len(state.String()) + state.Len()*2*int(unsafe.Sizeof(""))
	}
	return size
}

// An encoder encodes the parts of a hand-over. A pool stores encoders, to use their memory again.
type encoder struct {
	writer     otlpenc.Writer
	recorded   []Spans      // for the recorders
	exported   []Spans      // for the exporters
	roots      []local.Root // recorded and exported point to these
	counts     counts
	attributes []attribute.KeyValue
	events     []sdktrace.Event
	marks      []record.FinishedMark
	data       otlpenc.Snapshot // the span that is being encoded
	sink       otlpenc.AttributeWriter

	// The following fields belong to the part that is being encoded.
	bytes            []byte
	groups           []spanGroup   // the encoded groups
	span             *recordedSpan // appendRequest writes the request of this span
	toRecorders      bool
	toExporters      bool
	measureIDs       []trace.SpanID // by item, if spans are encoded twice; else empty
	exportsUnsampled bool           // the exporters receive the kept unit, which is not sampled
	refused          uint32         // entries without room in the undecided journal
	open             bool           // the unit is open
}

// A spanGroup identifies spans of a unit with the same resource, scope and sampling decision.
type spanGroup struct {
	scope   *otlpenc.Group
	sampled bool
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// HandOver encodes the spans of parts, and passes the spans to the outputs. HandOver also counts
// the local roots in parts.
func (r receiver) HandOver(parts []*record.Finished) {
	p := r.provider
	s := encoders.Get().(*encoder)
	s.roots = slices.Grow(s.roots, 2*len(parts)) // spans point to roots: append must not move them
	for _, finished := range parts {
		s.add(p, finished)
	}
	p.accept(p.recorders, s.recorded)
	p.accept(p.exporters, s.exported)
	p.attachment.stats.add(&s.counts)
	s.free()
}

// accept hands spans to outputs. An output that panics loses the spans.
func (p *TracerProvider) accept(outputs []Output, spans []Spans) {
	if len(spans) == 0 {
		return
	}
	for _, o := range outputs {
		p.timeline.Try("an Output's Accept", func() { o.Accept(spans) })
	}
}

// add encodes a part for all outputs, and hands over its log records. If log records replace
// events, add encodes the part twice: with marks as events for the recorders, and without for the
// exporters.
func (s *encoder) add(p *TracerProvider, finished *record.Finished) {
	s.exportsUnsampled, s.refused, s.open = false, 0, finished.Open()
	if u := finished.Unit(); u != nil && u.Tentative() {
		s.exportsUnsampled, s.refused = u.Exported(), finished.Refused()
	}
	s.measureIDs = s.measureIDs[:0]
	s.toRecorders, s.toExporters = len(p.recorders) > 0, len(p.exporters) > 0
	if p.logs.replacesEvents() && s.toRecorders && s.toExporters {
		s.measureIDs = slices.Grow(s.measureIDs, finished.Len())[:finished.Len()]
		clear(s.measureIDs)
		s.toExporters = false
		s.encode(p, finished)
		s.toRecorders, s.toExporters = false, true
	}
	s.encode(p, finished)
	s.handOverMarks(p, finished)
}

func (s *encoder) free() {
	for _, spans := range s.recorded {
		otlpenc.Spans(spans).Release()
	}
	for _, spans := range s.exported {
		otlpenc.Spans(spans).Release()
	}
	s.recorded, s.exported, s.roots = reset(s.recorded), reset(s.exported), reset(s.roots)
	s.clearScratch()
	s.bytes, s.counts = nil, counts{}
	encoders.Put(s)
}

func (s *encoder) clearScratch() {
	s.groups, s.attributes = reset(s.groups), reset(s.attributes)
	s.events, s.marks = reset(s.events), reset(s.marks)
	s.span, s.data, s.sink = nil, otlpenc.Snapshot{}, otlpenc.AttributeWriter{}
}

// reset clears a list and returns its empty storage.
func reset[T any](list []T) []T {
	clear(list)
	return list[:0]
}

func (s *encoder) encodesEvents(p *TracerProvider) bool {
	return s.toRecorders || !p.logs.replacesEvents()
}

// encode encodes the spans of a part by group. The groups are in the order of their first spans.
func (s *encoder) encode(p *TracerProvider, finished *record.Finished) {
	s.clearScratch()
	for next := 0; next >= 0; {
		next = s.encodeGroup(p, finished, next)
	}
}

// encodeGroup encodes one group: the group of the first span that is not encoded, from item first
// on. encodeGroup returns the first item of the next group, or -1.
func (s *encoder) encodeGroup(p *TracerProvider, finished *record.Finished, first int) (next int) {
	next = -1
	var group spanGroup
	var spans otlpenc.Spans
	// only the loop over the first group of the first encoding sees each span once
	counting := len(s.groups) == 0 && (s.toRecorders || len(s.measureIDs) == 0)
	s.bytes = s.writer.Next()
	for i := first; i < finished.Len(); i++ {
		it := finished.At(i)
		if it == nil {
			continue
		}
		span, ok := it.Span.(*recordedSpan)
		if !ok {
			continue
		}
		g := spanGroup{p.marks.group, span.sampled}
		if it.IsSpan {
			g.scope = span.tracer.group
		}
		if counting {
			s.count(p, span, it.IsSpan)
		}
		switch {
		case !s.toRecorders && (!s.toExporters || !span.sampled && !s.exportsUnsampled):
			continue
		case group == g:
		case group.scope == nil:
			group = g
			spans = otlpenc.NewSpans(g.scope, nil, 0)
			spans.TraceID = span.spanContext.TraceID()
		case next < 0 && !slices.Contains(s.groups, g):
			next = i
			continue
		default:
			continue
		}
		if it.IsSpan {
			s.appendSpan(finished, span, it.Attrs)
			if span.root {
				s.roots = append(s.roots, span.asRoot())
				root := &s.roots[len(s.roots)-1]
				root.Refused = s.refused
				spans = spans.WithRoot(root)
			}
		} else {
			s.appendMeasure(span, it, i)
		}
		if spans.Count++; s.writer.Full(s.bytes) {
			s.emit(group, spans)
			spans.Count, s.bytes = 0, s.writer.Next()
			spans = spans.WithRoot(nil)
		}
	}
	s.groups = append(s.groups, group)
	if spans.Count > 0 {
		s.emit(group, spans)
	}
	return next
}

// emit appends the spans in s.bytes to the lists of the outputs.
func (s *encoder) emit(group spanGroup, spans otlpenc.Spans) {
	spans.Bytes = s.bytes
	if s.open {
		spans = spans.WithOpenRoot()
	}
	spans = s.writer.Spans(spans)
	if s.toRecorders {
		s.recorded = append(s.recorded, Spans(spans))
	}
	if s.toExporters && (group.sampled || s.exportsUnsampled) {
		if s.toRecorders {
			spans = spans.Retain()
		}
		s.exported = append(s.exported, Spans(spans))
	}
}

// count counts a span, or a measure under the span. Spans without an output count, too, because
// processors may have seen the spans.
func (s *encoder) count(p *TracerProvider, span *recordedSpan, isSpan bool) {
	if isSpan && span.root {
		root := span.asRoot()
		p.countRoot(&root, p.decisionCounter(span))
		if s.exportsUnsampled {
			s.counts[requestsExported]++
		}
	}
	if isSpan && !span.measure {
		s.counts[otherSpans]++
	} else {
		s.counts[measureSpans]++
	}
}

func (s *encoder) appendSpan(finished *record.Finished, span *recordedSpan, attrs []slog.Attr) {
	d := span.readDetails()
	data := &s.data
	data.Name = span.name
	data.SpanContext = s.contextOf(span)
	data.Parent = span.Parent()
	data.SpanKind = trace.SpanKind(span.kind)
	data.StartTime, data.EndTime = span.startTime, span.endTime
	data.Attributes, data.Events, data.Links = span.attributes, d.events.values, d.links.values
	data.Status = span.status
	data.DroppedAttributeCount = int(span.droppedAttributes)
	data.DroppedEventCount, data.DroppedLinkCount = d.events.dropped, d.links.dropped
	var more otlpenc.Extra
	switch {
	case span.tentative && span.keep != local.NotKept:
		n := len(s.attributes)
		s.attributes = append(span.appendAttributes(s.attributes),
			attribute.String(local.KeepReasonKey, span.keep.String()))
		data.Attributes = s.attributes[n:]
	case span.request == nil:
	case len(attrs)+len(span.attributes) == 0:
		s.span = span
		more.Attributes = s.appendRequest
	default:
		n := len(s.attributes)
		s.attributes = span.appendAttributes(s.attributes)
		data.Attributes = s.attributes[n:]
	}
	if len(attrs) > 0 {
		var dropped int
		data.Attributes, dropped = s.appendLimited(&span.tracer.provider.limits,
			data.Attributes, attrs)
		data.DroppedAttributeCount += dropped
	}
	switch last := finished.LastMark(span); {
	case !s.encodesEvents(span.tracer.provider), !last.Valid() && span.marks.Dropped() == 0:
	case s.collectPlainMarks(span, last):
		more.Events = s.appendMarks
	default:
		var dropped int
		data.Events, dropped = s.mergeMarks(span, last)
		data.DroppedEventCount += dropped
	}
	s.bytes = data.Append(s.bytes, more)
}

// contextOf returns the span context that outputs receive. The context of a kept span that the
// sampler dropped has no sampling threshold, because the span represents no other spans.
func (s *encoder) contextOf(span *recordedSpan) trace.SpanContext {
	if !s.exportsUnsampled || span.sampled {
		return span.spanContext
	}
	return span.spanContext.WithTraceState(keep.WithoutThreshold(span.spanContext.TraceState()))
}

func (s *encoder) appendRequest(b []byte) []byte {
	s.sink.Bytes = b
	facts := s.span.request
	facts.Form.Request(facts, &s.sink)
	if s.span.answered {
		facts.Form.Answer(facts, &s.sink)
	}
	return s.sink.Bytes
}

// collectPlainMarks collects the marks of a span in s.marks. collectPlainMarks returns false unless
// the marks are the span's only events, within the limits, with plain attributes.
func (s *encoder) collectPlainMarks(span *recordedSpan, last record.FinishedMark) bool {
	limits := &span.tracer.provider.limits
	s.marks = reset(s.marks)
	if len(span.readDetails().events.values) > 0 || span.marks.Dropped() > 0 ||
		!admits(limits.EventCountLimit, span.marks.Len()) {
		return false
	}
	for m := last; m.Valid(); m = m.Previous() {
		if attrs := m.Attrs(); !otlpenc.Plain(attrs) ||
			!admits(limits.AttributePerEventCountLimit, len(attrs)) {
			return false
		}
		s.marks = append(s.marks, m)
	}
	s.countEvents(span, len(s.marks), 0)
	return true
}

// countEvents counts marks that became events, and marks over their span's limit.
func (s *encoder) countEvents(span *recordedSpan, events, limited int) {
	logs := span.tracer.provider.logs
	switch exported := span.sampled || s.exportsUnsampled; {
	case !exported || logs.logMarks() != record.AllMarks:
		s.counts[markEvents] += uint64(events)
		s.counts[marksOverLimit] += uint64(limited)
	case logs.form == SpanEventsAndLogRecords:
		s.counts[markEvents] += uint64(events)
		s.counts[markRecords] += uint64(limited)
	}
}

func (s *encoder) appendMarks(b []byte) []byte {
	for _, m := range slices.Backward(s.marks) {
		b = otlpenc.AppendEvent(b, m.Time(), m.Name(), m.Attrs())
	}
	return b
}

// admits reports whether n is within a limit. A negative limit means no limit.
func admits(limit, n int) bool { return limit < 0 || n <= limit }

// appendMeasure appends the span of a measure, which is an item of the part.
func (s *encoder) appendMeasure(parent *recordedSpan, it *record.Item, index int) {
	limits, data := &parent.tracer.provider.limits, &s.data
	*data = otlpenc.Snapshot{
		Name: it.Measure, SpanContext: s.contextOf(parent).WithSpanID(s.measureID(parent, index)),
		Parent: parent.spanContext, SpanKind: trace.SpanKindInternal,
	}
	data.StartTime, data.EndTime = spanTimes(it.Start, it.Duration)
	if limits.AttributeValueLengthLimit < 0 && admits(limits.AttributeCountLimit, len(it.Attrs)) &&
		otlpenc.Plain(it.Attrs) {
		s.bytes = data.Append(s.bytes, otlpenc.Extra{Detail: it.Attrs})
		return
	}
	data.Attributes, data.DroppedAttributeCount = s.appendLimited(limits, nil, it.Attrs)
	s.bytes = data.Append(s.bytes, otlpenc.Extra{})
}

// measureID returns the span id of the measure at an index. Both encodings of a part get the same
// id.
func (s *encoder) measureID(parent *recordedSpan, index int) trace.SpanID {
	if len(s.measureIDs) > 0 && s.measureIDs[index].IsValid() {
		return s.measureIDs[index]
	}
	id := parent.tracer.provider.newSpanID(context.Background(), parent.spanContext.TraceID())
	if len(s.measureIDs) > 0 {
		s.measureIDs[index] = id
	}
	return id
}

// appendLimited returns the attributes have and more, within the limits of a span, and the number
// of dropped attributes. The storage is s.attributes.
func (s *encoder) appendLimited(limits *sdktrace.SpanLimits, have []attribute.KeyValue,
	more []slog.Attr) (all []attribute.KeyValue, dropped int) {
	n := len(s.attributes)
	s.attributes = attributes.AppendConverted(append(s.attributes, have...), more)
	all = s.attributes[n:]
	added := all[len(have):]
	for i := range added {
		attributes.Limit(&added[i], limits)
	}
	if len(have) > 0 {
		all = attributes.Unique(all)
	}
	if limit := limits.AttributeCountLimit; limit >= 0 && len(all) > limit {
		return all[:limit], len(all) - limit
	}
	return all, 0
}

// mergeMarks returns the events and the marks of a span, by time and within the limit, and the
// number of dropped events and marks.
func (s *encoder) mergeMarks(span *recordedSpan, last record.FinishedMark) (events []sdktrace.Event,
	dropped int) {
	limits := &span.tracer.provider.limits
	own, n := span.readDetails().events.values, len(s.events)
	s.events = append(s.events, own...)
	marks, limit := 0, limits.EventCountLimit
	for m := last; m.Valid() && (limit < 0 || marks < limit); m = m.Previous() {
		from := len(s.attributes)
		s.attributes = attributes.AppendConverted(s.attributes, m.Attrs())
		e := sdktrace.Event{Name: m.Name(), Time: m.Time()}
		e.Attributes, e.DroppedAttributeCount = attributes.LimitList(s.attributes[from:],
			limits.AttributeValueDepthLimit, -1, limits.AttributePerEventCountLimit)
		s.events = append(s.events, e)
		marks++
	}
	events = s.events[n:]
	slices.Reverse(events[len(own):])
	if len(own) > 0 {
		slices.SortStableFunc(events,
			func(a, b sdktrace.Event) int { return a.Time.Compare(b.Time) })
	}
	s.countEvents(span, marks, span.marks.Len()-marks)
	dropped = span.marks.Dropped() + span.marks.Len() - marks
	if limit >= 0 && len(events) > limit {
		dropped += len(events) - limit
		events = events[len(events)-limit:]
	}
	return events, dropped
}
