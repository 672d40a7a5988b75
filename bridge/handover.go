package bridge

import (
	"sync"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/observer"
)

// receiver receives the units of a provider.
type receiver struct{ provider *TracerProvider }

var _ observer.Tracer = receiver{}

// wants reports whether an output takes the span.
func (p *TracerProvider) wants(sc trace.SpanContext) bool {
	return len(p.recorders) > 0 || len(p.exporters) > 0 && sc.IsSampled()
}

// Size implements [observer.Interval].
func (s *recordedSpan) Size() int {
	size := int(unsafe.Sizeof(*s)) + len(s.name) + len(s.status.Description) + attributesSize(s.attributes)
	d := s.readDetails()
	for i := range d.events.values {
		e := &d.events.values[i]
		size += int(unsafe.Sizeof(*e)) + len(e.Name) + attributesSize(e.Attributes)
	}
	for i := range d.links.values {
		l := &d.links.values[i]
		size += int(unsafe.Sizeof(*l)) + attributesSize(l.Attributes)
	}
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
	bytes []byte
	parts []part
}

// A part is the encoded spans of one group that are sampled, or those that are not.
type part struct {
	group   *otlpenc.Group
	sampled bool
	count   int
	end     int // in the bytes
}

// maxEncoding is the largest capacity of a buffer that is used again.
const maxEncoding = 512 << 10

var encodings = sync.Pool{New: func() any { return new(encoding) }}

// HandOver encodes spans and gives them to the outputs.
func (r receiver) HandOver(finished []observer.Interval) {
	s, ok := encodings.Get().(*encoding)
	if !ok {
		s = new(encoding)
	}
	s.encode(finished)
	bytes := append(make([]byte, 0, len(s.bytes)), s.bytes...)
	start := 0
	for _, part := range s.parts {
		spans := otlpenc.Spans{Group: part.group, Bytes: bytes[start:part.end:part.end], Count: part.count}
		start = part.end
		for _, o := range r.provider.recorders {
			o.Accept(spans)
		}
		if !part.sampled {
			continue
		}
		for _, o := range r.provider.exporters {
			o.Accept(spans)
		}
	}
	if cap(s.bytes) <= maxEncoding {
		clear(s.parts)
		s.bytes, s.parts = s.bytes[:0], s.parts[:0]
		encodings.Put(s)
	}
}

// encode encodes spans by groups, in the order of each group's first span.
func (s *encoding) encode(finished []observer.Interval) {
	for i, f := range finished {
		first, ok := f.(*recordedSpan)
		if !ok || s.has(first) {
			continue
		}
		part := part{group: first.tracer.group, sampled: first.spanContext.IsSampled()}
		for _, f := range finished[i:] {
			if span, ok := f.(*recordedSpan); ok && part.fits(span) {
				s.bytes = span.append(s.bytes)
				part.count++
			}
		}
		part.end = len(s.bytes)
		s.parts = append(s.parts, part)
	}
}

func (p *part) fits(s *recordedSpan) bool {
	return p.group == s.tracer.group && p.sampled == s.spanContext.IsSampled()
}

func (s *encoding) has(span *recordedSpan) bool {
	for i := range s.parts {
		if s.parts[i].fits(span) {
			return true
		}
	}
	return false
}

// append appends the encoded span.
func (s *recordedSpan) append(b []byte) []byte {
	d := s.readDetails()
	data := otlpenc.Snapshot{
		Name: s.name, SpanContext: s.spanContext, Parent: s.parent, SpanKind: trace.SpanKind(s.kind), StartTime: s.startTime, EndTime: s.endTime,
		Attributes: s.attributes, Events: d.events.values, Links: d.links.values, Status: s.status,
		DroppedAttributeCount: s.droppedAttributes, DroppedEventCount: d.events.dropped, DroppedLinkCount: d.links.dropped,
	}
	return data.Append(b)
}
