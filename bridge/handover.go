package bridge

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/observer/record"
)

// receiver receives the units of a provider.
type receiver struct{ provider *TracerProvider }

var _ record.Receiver = receiver{}

// MarkLimit implements [record.Receiver].
func (r receiver) MarkLimit() int {
	if r.provider.logs.replaces() && len(r.provider.recorders) == 0 {
		return 0 // no output gets the events
	}
	return r.provider.limits.EventCountLimit
}

// TakesMarks implements [record.Receiver].
func (r receiver) TakesMarks() record.MarksTaken { return r.provider.logs.taken() }

// Size implements [record.Span].
func (s *recordedSpan) Size() int {
	size := int(unsafe.Sizeof(*s)) + len(s.name) + len(s.status.Description) + attributesSize(s.attributes)
	if s.request != nil {
		size += serving.MaxAttributes * int(unsafe.Sizeof(attribute.KeyValue{}))
	}
	d := s.readDetails()
	for i := range d.events.values {
		e := &d.events.values[i]
		size += int(unsafe.Sizeof(*e)) + len(e.Name) + attributesSize(e.Attributes)
	}
	for i := range d.links.values {
		l := &d.links.values[i]
		size += int(unsafe.Sizeof(*l)) + attributesSize(l.Attributes) + traceStateSize(l.SpanContext.TraceState())
	}
	return size
}

// traceStateSize counts the list of members, too: 32 of a few bytes are mostly list.
func traceStateSize(ts trace.TraceState) (size int) {
	ts.Walk(func(key, value string) bool {
		size += 2*int(unsafe.Sizeof(key)) + len(key) + len(value)
		return true
	})
	return size
}

func attributesSize(attrs []attribute.KeyValue) int {
	size := len(attrs) * int(unsafe.Sizeof(attribute.KeyValue{}))
	for i := range attrs {
		size += len(attrs[i].Key) + valueSize(attrs[i].Value)
	}
	return size
}

// An encoding is the storage of a hand-over. Later ones use it again.
type encoding struct {
	bytes      []byte
	parts      []encodedPart
	attributes []attribute.KeyValue
	events     []sdktrace.Event
	marks      []record.FinishedMark
	span       *recordedSpan    // whose request is encoded
	to         audience         // whose spans are encoded
	measureIDs []trace.SpanID   // by place, if spans are encoded for each audience
	exports    bool             // the exporters get spans that are not sampled, because they are kept
	refused    uint32           // spans that an undecided journal had no room for
	data       otlpenc.Snapshot // of the span that is encoded
	writer     otlpenc.AttributeWriter
	logs       []byte // records
	stripe     int
	counts     encodingCounts
}

// encodingCounts are what a hand-over adds to the counts of its provider.
type encodingCounts struct{ events, measures, spans, limited, logged uint64 }

// An audience is the outputs that spans are encoded for.
type audience uint8

const (
	everyOutput   audience = iota
	onlyRecorders          // with all marks as events
	onlyExporters          // without marks, which are log records
)

// An encodedPart is the encoded spans of one group that are sampled, or those that are not.
type encodedPart struct {
	group   *otlpenc.Group
	sampled bool
	count   int
	end     int                // in the bytes
	keep    otlpenc.KeepReason // of the local root, if the part has it
}

// maxEncoding is the largest capacity of a buffer that is used again.
const maxEncoding = 512 << 10

var encodings = sync.Pool{New: func() any { return &encoding{stripe: rand.IntN(stripes)} }}

// HandOver encodes spans and gives them to the outputs.
func (r receiver) HandOver(finished *record.Finished) {
	p := r.provider
	s := encodings.Get().(*encoding)
	if u := finished.Unit(); u != nil && u.Undecided() {
		s.exports, s.refused = u.Exported(), finished.Refused()
	}
	if p.logs.replaces() && len(p.recorders) > 0 && len(p.exporters) > 0 {
		s.measureIDs = slices.Grow(s.measureIDs[:0], finished.Len())[:finished.Len()]
		clear(s.measureIDs)
		s.handOverTo(p, onlyRecorders, finished)
		s.handOverTo(p, onlyExporters, finished)
	} else {
		s.handOverTo(p, everyOutput, finished)
	}
	s.handOverMarks(p, finished)
	stats := &p.stats.handedOver[s.stripe]
	add(&stats.events, s.counts.events)
	add(&stats.measures, s.counts.measures)
	add(&stats.spans, s.counts.spans)
	add(&stats.limited, s.counts.limited)
	add(&stats.logged, s.counts.logged)
	s.free()
}

// free gives the storage to later hand-overs.
func (s *encoding) free() {
	if cap(s.bytes)+cap(s.logs) > maxEncoding {
		return
	}
	clear(s.parts)
	clear(s.attributes)
	clear(s.events)
	clear(s.marks)
	s.bytes, s.logs, s.parts, s.attributes, s.events, s.marks = s.bytes[:0], s.logs[:0], s.parts[:0], s.attributes[:0], s.events[:0], s.marks[:0]
	s.span, s.to, s.exports, s.refused, s.counts = nil, everyOutput, false, 0, encodingCounts{}
	s.data, s.writer = otlpenc.Snapshot{}, otlpenc.AttributeWriter{}
	encodings.Put(s)
}

// handOverTo encodes spans for some outputs, and gives them to these.
func (s *encoding) handOverTo(p *TracerProvider, to audience, finished *record.Finished) {
	s.to, s.bytes, s.parts = to, s.bytes[:0], s.parts[:0]
	s.encode(p, finished)
	start := 0
	for _, part := range s.parts {
		spans := otlpenc.Spans{Group: part.group, Bytes: s.bytes[start:part.end:part.end], Count: part.count, Keep: part.keep}
		if part.keep != otlpenc.NotKept {
			spans.Refused = s.refused
		}
		start = part.end
		if to != onlyExporters {
			for _, o := range p.recorders {
				p.accept(o, spans)
			}
		}
		if to == onlyRecorders || !part.sampled && !s.exports {
			continue
		}
		for _, o := range p.exporters {
			p.accept(o, spans)
		}
	}
}

// wants reports whether an output takes spans that are exported, or others.
func (s *encoding) wants(p *TracerProvider, exported bool) bool {
	return len(p.recorders) > 0 && s.to != onlyExporters || len(p.exporters) > 0 && s.to != onlyRecorders && exported
}

// withEvents reports whether marks are encoded as events of their span.
func (s *encoding) withEvents(p *TracerProvider) bool {
	return s.to != onlyExporters && (!p.logs.replaces() || len(p.recorders) > 0)
}

// encode encodes spans by groups, in the order of each group's first span.
func (s *encoding) encode(p *TracerProvider, finished *record.Finished) {
	for next := 0; next >= 0; {
		next = s.encodePart(p, finished, next)
	}
}

// encodePart encodes the first span from place first on that is in no part yet, and all that belong to the same part. It returns
// the place of the next one, and -1 without one.
func (s *encoding) encodePart(p *TracerProvider, finished *record.Finished, first int) (next int) {
	next = -1
	var part encodedPart
	known := len(s.parts)
	wantsAll, wantsExported := s.wants(p, false), s.wants(p, true)
	for i := first; i < finished.Len(); i++ {
		it := finished.At(i)
		if it == nil {
			continue
		}
		span, ok := it.Span.(*recordedSpan)
		if !ok {
			continue
		}
		group, sampled := p.marks.group, span.sampled
		if it.IsSpan {
			group = span.tracer.group
		}
		if known == 0 && s.to != onlyExporters {
			s.count(span, it.IsSpan)
		}
		switch {
		case !wantsAll && (!wantsExported || !sampled && !s.exports):
			continue
		case part.group == group && part.sampled == sampled:
		case part.group == nil:
			part.group, part.sampled = group, sampled
		case next < 0 && !slices.ContainsFunc(s.parts[:known], func(q encodedPart) bool { return q.group == group && q.sampled == sampled }):
			next = i
			continue
		default:
			continue
		}
		if it.IsSpan {
			part.keep = max(part.keep, span.keep)
			s.appendSpan(finished, span, it.Attrs)
		} else {
			s.appendMeasure(span, it, i)
		}
		part.count++
	}
	if part.group != nil {
		part.end = len(s.bytes)
		s.parts = append(s.parts, part)
	}
	return next
}

// count counts a span, or a measure under it, also if no output wants it: a processor may have seen it.
func (s *encoding) count(span *recordedSpan, itself bool) {
	if itself && !span.measure {
		s.counts.spans++
	} else {
		s.counts.measures++
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
	data.DroppedAttributeCount, data.DroppedEventCount, data.DroppedLinkCount = int(span.droppedAttributes), d.events.dropped, d.links.dropped
	var more otlpenc.Extra
	switch {
	case span.tentative && span.keep != otlpenc.NotKept:
		n := len(s.attributes)
		s.attributes = append(span.appendAttributes(s.attributes), attribute.String(otlpenc.KeepReasonKey, span.keep.String()))
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
		data.Attributes, dropped = s.limitedAttributes(&span.tracer.provider.limits, data.Attributes, attrs)
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

// contextOf returns the context of a span as backends get it. A span that was exported because it was kept must not be counted for others, so
// that it has no sampling threshold.
func (s *encoding) contextOf(span *recordedSpan) trace.SpanContext {
	if !s.exports || span.sampled {
		return span.spanContext
	}
	return span.spanContext.WithTraceState(withoutThreshold(span.spanContext.TraceState()))
}

// appendRequest appends the attributes of the request whose span is s.span.
func (s *encoding) appendRequest(b []byte) []byte {
	s.writer.Bytes = b
	s.span.request.Request(&s.writer)
	if s.span.answered {
		s.span.request.Answer(&s.writer)
	}
	return s.writer.Bytes
}

// plainMarks reports whether the marks are all events of the span, and their attributes are plain. If so, s has the marks.
func (s *encoding) plainMarks(span *recordedSpan, last record.FinishedMark) bool {
	limits := &span.tracer.provider.limits
	clear(s.marks)
	s.marks = s.marks[:0]
	if len(span.readDetails().events.values) > 0 || span.marks.Dropped() > 0 || !admits(limits.EventCountLimit, span.marks.Len()) {
		return false
	}
	for m := last; m.Valid(); m = m.Before() {
		if attrs := m.Attrs(); !otlpenc.Plain(attrs) || !admits(limits.AttributePerEventCountLimit, len(attrs)) {
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
		s.counts.events += uint64(events)
		s.counts.limited += uint64(limited)
	case logs.form == SpanEventsAndLogRecords:
		s.counts.events += uint64(events)
		s.counts.logged += uint64(limited)
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
	p, data := parent.tracer.provider, &s.data
	data.Name = it.Measure
	data.SpanContext = s.contextOf(parent).WithSpanID(s.measureID(parent, place))
	data.Parent = parent.spanContext
	data.SpanKind = trace.SpanKindInternal
	data.StartTime, data.EndTime = ordered(it.Start, it.Duration)
	data.Attributes, data.Events, data.Links = nil, nil, nil
	data.Status = sdktrace.Status{}
	data.DroppedAttributeCount, data.DroppedEventCount, data.DroppedLinkCount = 0, 0, 0
	if limits := &p.limits; limits.AttributeValueLengthLimit < 0 && admits(limits.AttributeCountLimit, len(it.Attrs)) && otlpenc.Plain(it.Attrs) {
		s.bytes = data.Append(s.bytes, otlpenc.Extra{Detail: it.Attrs})
		return
	}
	data.Attributes, data.DroppedAttributeCount = s.limitedAttributes(&p.limits, nil, it.Attrs)
	s.bytes = data.Append(s.bytes, otlpenc.Extra{})
}

// measureID returns the id of the measure at a place, which is the same for each audience.
func (s *encoding) measureID(parent *recordedSpan, place int) trace.SpanID {
	if s.to != everyOutput && s.measureIDs[place].IsValid() {
		return s.measureIDs[place]
	}
	id := parent.tracer.provider.newSpanID(context.Background(), parent.spanContext.TraceID())
	if s.to != everyOutput {
		s.measureIDs[place] = id
	}
	return id
}

// limitedAttributes returns have, with more attributes, within the limits of a span.
func (s *encoding) limitedAttributes(limits *sdktrace.SpanLimits, have []attribute.KeyValue, more []slog.Attr) (all []attribute.KeyValue, dropped int) {
	n := len(s.attributes)
	s.attributes = appendConverted(append(s.attributes, have...), more)
	all = s.attributes[n:]
	added := all[len(have):]
	for i := range added {
		limitAttribute(&added[i], limits)
	}
	if len(have) > 0 {
		all = unique(all)
	}
	if limit := limits.AttributeCountLimit; limit >= 0 && len(all) > limit {
		return all[:limit], len(all) - limit
	}
	return all, 0
}

// withMarks returns the events of a span and its marks, by time, within the limit. It also returns how many marks, or events
// for them, it dropped.
func (s *encoding) withMarks(span *recordedSpan, last record.FinishedMark) (events []sdktrace.Event, dropped int) {
	limits := &span.tracer.provider.limits
	own := span.readDetails().events.values
	n := len(s.events)
	s.events = append(s.events, own...)
	marks, most := 0, limits.EventCountLimit
	for m := last; m.Valid() && (most < 0 || marks < most); m = m.Before() {
		from := len(s.attributes)
		s.attributes = appendConverted(s.attributes, m.Attrs())
		e := sdktrace.Event{Name: m.Name(), Time: m.Time()}
		e.Attributes, e.DroppedAttributeCount = limitedList(s.attributes[from:], limits.AttributeValueDepthLimit, limits.AttributePerEventCountLimit)
		s.events = append(s.events, e)
		marks++
	}
	events = s.events[n:]
	slices.Reverse(events[len(own):])
	if len(own) > 0 {
		slices.SortStableFunc(events, func(a, b sdktrace.Event) int { return a.Time.Compare(b.Time) })
	}
	s.countEvents(span, marks, span.marks.Len()-marks)
	dropped = span.marks.Dropped() + span.marks.Len() - marks
	if most >= 0 && len(events) > most {
		dropped += len(events) - most
		events = events[len(events)-most:]
	}
	return events, dropped
}
