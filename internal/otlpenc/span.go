package otlpenc

import (
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/otlpwire"
	"github.com/perfline/perfline/internal/text"
)

// Append encodes s with the attributes and events of the parameter more. Append appends one element
// of a ScopeSpans message: a tag, a length and the span. Append allocates nothing if b is large
// enough. The exceptions are lists, maps, bytes and invalid UTF-8.
func (s *Snapshot) Append(b []byte, more Extra) []byte {
	b, start := otlpwire.BeginMessage(b, otlpwire.Items)
	sc, parent := &s.SpanContext, &s.Parent
	b = appendIDs(b, *sc)
	if id := parent.SpanID(); id.IsValid() {
		b = append(append(b, byte(spanParentSpanID), byte(len(id))), id[:]...)
	}
	b = otlpwire.AppendFixed64(b, spanStart, otlpwire.Nanos(s.StartTime))
	b = otlpwire.AppendFixed64(b, spanEnd, otlpwire.Nanos(s.EndTime))
	b = append(b, byte(spanFlags&0x7f|0x80), byte(spanFlags>>7))
	b = protowire.AppendFixed32(b, flags(sc.TraceFlags(), *parent))
	b = appendTraceState(b, spanTraceState, sc.TraceState(), parent.IsValid() && !parent.IsRemote())
	b = otlpwire.AppendText(b, spanName, s.Name)
	if kind := s.SpanKind; kind > trace.SpanKindUnspecified && kind <= trace.SpanKindConsumer {
		b = append(b, byte(spanKind), byte(kind)) // OTLP has the same numbers
	}
	b = otlpwire.AppendAttributes(b, spanAttributes, s.Attributes, 0)
	if more.Attributes != nil {
		b = more.Attributes(b)
	}
	b = appendDetail(b, spanAttributes, more.Detail)
	b = otlpwire.AppendCount(b, spanDroppedAttributes, s.DroppedAttributeCount)
	b = appendEvents(b, s.Events)
	if more.Events != nil {
		b = more.Events(b)
	}
	b = otlpwire.AppendCount(b, spanDroppedEvents, s.DroppedEventCount)
	b = appendLinks(b, s.Links)
	b = otlpwire.AppendCount(b, spanDroppedLinks, s.DroppedLinkCount)
	b = appendStatus(b, s.Status)
	return otlpwire.EndMessage(b, start)
}

// appendIDs appends the ids of a span or of a link: the fields have the same numbers.
func appendIDs(b []byte, sc trace.SpanContext) []byte {
	tid, sid := sc.TraceID(), sc.SpanID()
	b = append(append(b, byte(spanTraceID), byte(len(tid))), tid[:]...)
	return append(append(b, byte(spanSpanID), byte(len(sid))), sid[:]...)
}

// flags returns the flags of the span's own context, and whether remote is from another process.
func flags(own trace.TraceFlags, remote trace.SpanContext) uint32 {
	f := uint32(own) | knowsRemote
	if remote.IsRemote() {
		f |= isRemote
	}
	return f
}

// maxTraceState bounds the bytes of the trace state of a link or of an inner span. Clients choose
// the state: large states in each span would fill the queue with a few requests. A local root
// carries the state without a bound.
const maxTraceState = 512

// appendTraceState appends ts without a conversion to text, which would allocate. If short is true,
// appendTraceState omits a trace state over maxTraceState.
func appendTraceState(b []byte, tag uint64, ts trace.TraceState, short bool) []byte {
	if ts.Len() == 0 {
		return b
	}
	before := len(b)
	b, at := otlpwire.BeginMessage(b, tag)
	ts.Walk(func(key, value string) bool {
		if len(b) > at {
			b = append(b, ',')
		}
		b = append(append(append(b, text.Valid(key)...), '='), text.Valid(value)...)
		return true
	})
	if short && len(b)-at > maxTraceState {
		return b[:before]
	}
	return otlpwire.EndMessage(b, at)
}

func appendEvents(b []byte, events []sdktrace.Event) []byte {
	for i := range events {
		e := &events[i]
		var at int
		b, at = otlpwire.BeginMessage(b, spanEvents)
		b = otlpwire.AppendFixed64(b, eventTime, otlpwire.Nanos(e.Time))
		b = otlpwire.AppendText(b, eventName, e.Name)
		b = otlpwire.AppendAttributes(b, eventAttributes, e.Attributes, 0)
		b = otlpwire.AppendCount(b, eventDroppedAttributes, e.DroppedAttributeCount)
		b = otlpwire.EndMessage(b, at)
	}
	return b
}

func appendLinks(b []byte, links []sdktrace.Link) []byte {
	for i := range links {
		l := &links[i]
		var at int
		b, at = otlpwire.BeginMessage(b, spanLinks)
		b = appendIDs(b, l.SpanContext)
		b = appendTraceState(b, linkTraceState, l.SpanContext.TraceState(), true)
		b = otlpwire.AppendAttributes(b, linkAttributes, l.Attributes, 0)
		b = otlpwire.AppendCount(b, linkDroppedAttributes, l.DroppedAttributeCount)
		b = protowire.AppendFixed32(append(b, byte(linkFlags)),
			flags(l.SpanContext.TraceFlags(), l.SpanContext))
		b = otlpwire.EndMessage(b, at)
	}
	return b
}

func appendStatus(b []byte, s sdktrace.Status) []byte {
	b, at := otlpwire.BeginMessage(b, spanStatus)
	b = otlpwire.AppendText(b, statusMessage, s.Description)
	switch s.Code {
	case codes.Ok:
		b = append(b, byte(statusCode), statusOk)
	case codes.Error:
		b = append(b, byte(statusCode), statusError)
	default:
	}
	return otlpwire.EndMessage(b, at)
}
