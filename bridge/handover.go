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
	"github.com/perfline/perfline/bridge/internal/keep"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
)

// receiver receives the units of a provider.
type receiver struct{ provider *TracerProvider }

var _ record.Receiver = receiver{}

func (r receiver) MarkLimit() int {
	if r.provider.logs.replaces() && len(r.provider.recorders) == 0 {
		return 0 // no output gets the events
	}
	return r.provider.limits.EventCountLimit
}

func (r receiver) TakesMarks() record.MarksTaken { return r.provider.logs.taken() }

func (s *recordedSpan) Size() int {
	size := int(unsafe.Sizeof(*s))
	if s.served != nil {
		size = int(unsafe.Sizeof(*s.served))
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
		state := l.SpanContext.TraceState()
		// a key and a value each
		size += int(unsafe.Sizeof(*l)) + attributes.Size(l.Attributes) + len(
			state.String()) + state.Len()*2*int(unsafe.Sizeof(""))
	}
	return size
}

// An encoding is the storage of a hand-over. Later ones use it again.
type encoding struct {
	writer     otlpenc.Writer
	recorded   []Spans      // for the recorders
	exported   []Spans      // for the exporters
	roots      []local.Root // of these spans
	counts     counts
	attributes []attribute.KeyValue
	events     []sdktrace.Event
	marks      []record.FinishedMark
	data       otlpenc.Snapshot // of the span that is encoded
	sink       otlpenc.AttributeWriter

	// Of the part that is encoded.
	bytes       []byte
	known       []encodedPart
	span        *recordedSpan // its request is what appendRequest writes
	toRecorders bool
	toExporters bool
	measureIDs  []trace.SpanID // by place, if spans are encoded twice; else empty
	// the exporters get spans that are not sampled, because they are kept
	exports bool
	refused uint32 // spans that an undecided journal had no room for
}

// An encodedPart tells the encoded spans of a unit apart: those of one group that are sampled, or
// those that are not.
type encodedPart struct {
	group   *otlpenc.Group
	sampled bool
}

var encodings = sync.Pool{New: func() any { return new(encoding) }}

// HandOver counts the local roots that have ended, encodes all spans, and gives them to the
// outputs.
func (r receiver) HandOver(parts []*record.Finished) {
	p := r.provider
	s := encodings.Get().(*encoding)
	s.roots = slices.Grow(s.roots, 2*len(parts)) // spans refer to them
	for _, finished := range parts {
		s.add(p, finished)
	}
	p.accept(p.recorders, s.recorded)
	p.accept(p.exporters, s.exported)
	p.joined.stats.add(&s.counts)
	s.free()
}

// add encodes a part of a unit for all outputs. Its log records go out at once. With log records in
// place of events, the spans for the recorders have the marks as events, and the spans for the
// exporters do not.
func (s *encoding) add(p *TracerProvider, finished *record.Finished) {
	s.exports, s.refused = false, 0
	if u := finished.Unit(); u != nil && u.Tentative() {
		s.exports, s.refused = u.Exported(), finished.Refused()
	}
	s.measureIDs = s.measureIDs[:0]
	s.toRecorders, s.toExporters = len(p.recorders) > 0, len(p.exporters) > 0
	if p.logs.replaces() && s.toRecorders && s.toExporters {
		s.measureIDs = slices.Grow(s.measureIDs, finished.Len())[:finished.Len()]
		clear(s.measureIDs)
		s.toExporters = false
		s.encode(p, finished)
		s.toRecorders, s.toExporters = false, true
	}
	s.encode(p, finished)
	s.handOverMarks(p, finished)
}

// free gives the storage to later hand-overs.
func (s *encoding) free() {
	for _, spans := range s.recorded {
		otlpenc.Spans(spans).Release()
	}
	for _, spans := range s.exported {
		otlpenc.Spans(spans).Release()
	}
	s.recorded, s.exported, s.roots = emptied(s.recorded), emptied(s.exported), emptied(s.roots)
	s.clearScratch()
	s.bytes, s.counts = nil, counts{}
	encodings.Put(s)
}

// clearScratch forgets what a part has left.
func (s *encoding) clearScratch() {
	s.known, s.attributes, s.events, s.marks = emptied(s.known), emptied(s.attributes),
		emptied(s.events), emptied(s.marks)
	s.span, s.data, s.sink = nil, otlpenc.Snapshot{}, otlpenc.AttributeWriter{}
}

// emptied returns the storage of a list that refers to nothing.
func emptied[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// withEvents reports whether marks are encoded as events of their span.
func (s *encoding) withEvents(p *TracerProvider) bool { return s.toRecorders || !p.logs.replaces() }

// encode encodes the spans of a part, by groups, in the order of each group's first span.
func (s *encoding) encode(p *TracerProvider, finished *record.Finished) {
	s.clearScratch()
	for next := 0; next >= 0; {
		next = s.encodeGroup(p, finished, next)
	}
}

// encodeGroup encodes the group of the first span from place first on that is not encoded yet. It
// returns the next one's place, or -1.
func (s *encoding) encodeGroup(p *TracerProvider, finished *record.Finished, first int) (next int) {
	next = -1
	var part encodedPart
	var spans otlpenc.Spans
	// each span once: in the first group, of the first encoding
	counting := len(s.known) == 0 && (s.toRecorders || len(s.measureIDs) == 0)
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
		this := encodedPart{p.marks.group, span.sampled}
		if it.IsSpan {
			this.group = span.tracer.group
		}
		if counting {
			s.count(p, span, it.IsSpan)
		}
		switch {
		case !s.toRecorders && (!s.toExporters || !span.sampled && !s.exports):
			continue
		case part == this:
		case part.group == nil:
			part = this
			spans = otlpenc.NewSpans(this.group, nil, 0)
			spans.TraceID = span.spanContext.TraceID()
		case next < 0 && !slices.Contains(s.known, this):
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
			s.emit(part, spans)
			spans.Count, s.bytes = 0, s.writer.Next()
			spans = spans.WithRoot(nil)
		}
	}
	s.known = append(s.known, part)
	if spans.Count > 0 {
		s.emit(part, spans)
	}
	return next
}

// emit gives spans of a group, which are s.bytes, to the outputs.
func (s *encoding) emit(part encodedPart, spans otlpenc.Spans) {
	spans.Bytes = s.bytes
	spans = s.writer.Spans(spans)
	if s.toRecorders {
		s.recorded = append(s.recorded, Spans(spans))
	}
	if s.toExporters && (part.sampled || s.exports) {
		if s.toRecorders {
			spans = spans.Retain()
		}
		s.exported = append(s.exported, Spans(spans))
	}
}

// count counts a span, or a measure under it, also if no output wants it: a processor may have seen
// it.
func (s *encoding) count(p *TracerProvider, span *recordedSpan, itself bool) {
	if itself && span.root {
		if p.routes != nil {
			p.routes.Add(span.asRoot())
		}
		if place := p.placeOf(span); place >= 0 {
			s.counts[place]++
		}
		if s.exports {
			s.counts[requestsExported]++
		}
	}
	if itself && !span.measure {
		s.counts[otherSpans]++
	} else {
		s.counts[measureSpans]++
	}
}

// appendSpan appends an encoded span.
func (s *encoding) appendSpan(finished *record.Finished, span *recordedSpan, attrs []slog.Attr) {
	d := span.readDetails()
	data := &s.data
	data.Name = span.name
	data.SpanContext = s.contextOf(span)
	data.Parent = span.Parent()
	data.SpanKind = trace.SpanKind(span.kind)
	data.StartTime, data.EndTime = span.startTime, span.endTime
	data.Attributes, data.Events, data.Links = span.attributes, d.events.values, d.links.values
	data.Status = span.status
	data.DroppedAttributeCount, data.DroppedEventCount,
		data.DroppedLinkCount = int(span.droppedAttributes), d.events.dropped, d.links.dropped
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
		data.Attributes, dropped = s.limitedAttributes(&span.tracer.provider.limits,
			data.Attributes, attrs)
		data.DroppedAttributeCount += dropped
	}
	switch last := finished.LastMark(span); {
	case !s.withEvents(span.tracer.provider), !last.Valid() && span.marks.Dropped() == 0:
	case s.plainMarks(span, last):
		more.Events = s.appendMarks
	default:
		var dropped int
		data.Events, dropped = s.withMarks(span, last)
		data.DroppedEventCount += dropped
	}
	s.bytes = data.Append(s.bytes, more)
}

// contextOf returns the context of a span as backends get it. A span exported because it was kept
// has no sampling threshold: it stands for itself.
func (s *encoding) contextOf(span *recordedSpan) trace.SpanContext {
	if !s.exports || span.sampled {
		return span.spanContext
	}
	return span.spanContext.WithTraceState(keep.WithoutThreshold(span.spanContext.TraceState()))
}

// appendRequest appends the attributes of the request whose span is s.span.
func (s *encoding) appendRequest(b []byte) []byte {
	s.sink.Bytes = b
	facts := s.span.request
	facts.Form.Request(facts, &s.sink)
	if s.span.answered {
		facts.Form.Answer(facts, &s.sink)
	}
	return s.sink.Bytes
}

// plainMarks reports whether the marks are all events of the span, and their attributes are plain.
// If so, s has the marks.
func (s *encoding) plainMarks(span *recordedSpan, last record.FinishedMark) bool {
	limits := &span.tracer.provider.limits
	clear(s.marks)
	s.marks = s.marks[:0]
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

// countEvents counts marks that became events, and others that exceed the limit of their span.
func (s *encoding) countEvents(span *recordedSpan, events, limited int) {
	logs := span.tracer.provider.logs
	switch exported := span.sampled || s.exports; {
	case !exported || logs.taken() != record.AllMarks:
		s.counts[markEvents] += uint64(events)
		s.counts[marksOverLimit] += uint64(limited)
	case logs.form == SpanEventsAndLogRecords:
		s.counts[markEvents] += uint64(events)
		s.counts[markRecords] += uint64(limited)
	}
}

func (s *encoding) appendMarks(b []byte) []byte {
	for _, m := range slices.Backward(s.marks) {
		b = otlpenc.AppendEvent(b, m.Time(), m.Name(), m.Attrs())
	}
	return b
}

// admits reports whether a limit, of which a negative one is none, admits n.
func admits(limit, n int) bool { return limit < 0 || n <= limit }

// appendMeasure appends the span of a measure.
func (s *encoding) appendMeasure(parent *recordedSpan, it *record.Item, place int) {
	limits, data := &parent.tracer.provider.limits, &s.data
	*data = otlpenc.Snapshot{
		Name: it.Measure, SpanContext: s.contextOf(parent).WithSpanID(s.measureID(parent, place)),
		Parent: parent.spanContext, SpanKind: trace.SpanKindInternal,
	}
	data.StartTime, data.EndTime = ordered(it.Start, it.Duration)
	if limits.AttributeValueLengthLimit < 0 && admits(limits.AttributeCountLimit, len(it.Attrs)) &&
		otlpenc.Plain(it.Attrs) {
		s.bytes = data.Append(s.bytes, otlpenc.Extra{Detail: it.Attrs})
		return
	}
	data.Attributes, data.DroppedAttributeCount = s.limitedAttributes(limits, nil, it.Attrs)
	s.bytes = data.Append(s.bytes, otlpenc.Extra{})
}

// measureID returns the id of the measure at a place. It is the same for the recorders and the
// exporters.
func (s *encoding) measureID(parent *recordedSpan, place int) trace.SpanID {
	if len(s.measureIDs) > 0 && s.measureIDs[place].IsValid() {
		return s.measureIDs[place]
	}
	id := parent.tracer.provider.newSpanID(context.Background(), parent.spanContext.TraceID())
	if len(s.measureIDs) > 0 {
		s.measureIDs[place] = id
	}
	return id
}

// limitedAttributes returns have, with more attributes, within the limits of a span.
func (s *encoding) limitedAttributes(limits *sdktrace.SpanLimits, have []attribute.KeyValue,
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

// withMarks returns the events of a span and its marks, by time, within the limit. It also returns
// how many marks, or events for them, it dropped.
func (s *encoding) withMarks(span *recordedSpan, last record.FinishedMark) (events []sdktrace.Event,
	dropped int) {
	limits := &span.tracer.provider.limits
	own, n := span.readDetails().events.values, len(s.events)
	s.events = append(s.events, own...)
	marks, most := 0, limits.EventCountLimit
	for m := last; m.Valid() && (most < 0 || marks < most); m = m.Previous() {
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
	if most >= 0 && len(events) > most {
		dropped += len(events) - most
		events = events[len(events)-most:]
	}
	return events, dropped
}
