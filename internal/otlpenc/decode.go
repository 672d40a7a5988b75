package otlpenc

import (
	"fmt"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpwire"
)

// A Header contains the ids and the times of a span.
type Header struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	ParentID   trace.SpanID // zero without a parent
	Remote     bool         // the parent is in another process
	TraceFlags trace.TraceFlags
	Start, End time.Time
}

// Duration returns the duration of the span.
func (h Header) Duration() time.Duration { return h.End.Sub(h.Start) }

// A Span is a decoded span. A Span shares no memory with the encoded bytes.
type Span struct {
	Header
	Group      *Group // with the resource and the scope
	TraceState string
	Name       string
	Kind       trace.SpanKind
	Attributes []attribute.KeyValue
	Events     []sdktrace.Event
	Links      []sdktrace.Link
	Status     sdktrace.Status

	DroppedAttributes, DroppedEvents, DroppedLinks int
}

// First decodes the header of the first span into h, and returns the size of the span in bytes. If
// the bytes do not begin with a span, First returns an error, and h is invalid. s must not be
// empty. First allocates nothing on success.
func (s Spans) First(h *Header) (size int, err error) {
	*h = Header{Start: epoch, End: epoch}
	rest := otlpwire.Fields(s.Bytes)
	body, err := nextItem(&rest)
	if err == nil {
		err = body.Each(h.field)
	}
	if err != nil {
		return 0, err
	}
	return len(s.Bytes) - len(rest), nil
}

// All decodes the spans and yields each span in order. If a span is malformed, All yields the error
// and stops.
func (s Spans) All() iter.Seq2[Span, error] {
	return func(yield func(Span, error) bool) {
		for b := otlpwire.Fields(s.Bytes); len(b) > 0; {
			decoded := Span{Header: Header{Start: epoch, End: epoch}, Group: s.group}
			body, err := nextItem(&b)
			if err == nil {
				err = body.Each(decoded.field)
			}
			if !yield(decoded, err) || err != nil {
				return
			}
		}
	}
}

// nextItem removes the first field, which must be a span or a log record.
func nextItem(b *otlpwire.Fields) (otlpwire.Fields, error) {
	f, err := b.Next()
	if err == nil && f.Tag != otlpwire.Items {
		err = fmt.Errorf(
			"otlpenc: malformed span: field %d of type %d among spans, want %d of type %d",
			f.Tag>>3, f.Tag&7, otlpwire.Items>>3, otlpwire.Items&7)
	}
	return f.Body, err
}

func (h *Header) field(f otlpwire.Field) error {
	switch f.Tag {
	case spanTraceID:
		return decodeID(h.TraceID[:], f.Body)
	case spanSpanID:
		return decodeID(h.SpanID[:], f.Body)
	case spanParentSpanID:
		return decodeID(h.ParentID[:], f.Body)
	case spanStart:
		h.Start = moment(f.Number)
	case spanEnd:
		h.End = moment(f.Number)
	case spanFlags:
		h.flags(f.Number)
	}
	return nil
}

func (h *Header) flags(n uint64) { h.Remote, h.TraceFlags = n&isRemote != 0, trace.TraceFlags(n) }

func decodeID(id, b []byte) error {
	if len(b) != len(id) && len(b) != 0 {
		return fmt.Errorf("otlpenc: id %x has %d bytes, want %d", b[:min(len(b), 16)], len(b),
			len(id))
	}
	clear(id)
	copy(id, b)
	return nil
}

// epoch stands for a missing time.
var epoch = moment(0)

func moment(n uint64) time.Time { return time.Unix(int64(n/1e9), int64(n%1e9)) }

func (s *Span) field(f otlpwire.Field) (err error) {
	switch f.Tag {
	case spanTraceState:
		s.TraceState = string(f.Body)
	case spanName:
		s.Name = string(f.Body)
	case spanKind:
		s.Kind = trace.SpanKind(int32(f.Number))
	case spanAttributes:
		s.Attributes, err = appendDecoded(s.Attributes, f.Body, decodeAttribute)
	case spanDroppedAttributes:
		s.DroppedAttributes = int(uint32(f.Number))
	case spanEvents:
		s.Events, err = appendDecoded(s.Events, f.Body, decodeEvent)
	case spanDroppedEvents:
		s.DroppedEvents = int(uint32(f.Number))
	case spanLinks:
		s.Links, err = appendDecoded(s.Links, f.Body, decodeLink)
	case spanDroppedLinks:
		s.DroppedLinks = int(uint32(f.Number))
	case spanStatus:
		s.Status, err = decodeStatus(f.Body)
	default:
		err = s.Header.field(f)
	}
	return err
}

func appendDecoded[T any](
	all []T, b otlpwire.Fields, decode func(otlpwire.Fields) (T, error),
) ([]T, error) {
	element, err := decode(b)
	if err != nil {
		return all, err
	}
	return append(all, element), nil
}

func decodeEvent(b otlpwire.Fields) (e sdktrace.Event, err error) {
	e.Time = epoch
	err = b.Each(func(f otlpwire.Field) (err error) {
		switch f.Tag {
		case eventTime:
			e.Time = moment(f.Number)
		case eventName:
			e.Name = string(f.Body)
		case eventAttributes:
			e.Attributes, err = appendDecoded(e.Attributes, f.Body, decodeAttribute)
		case eventDroppedAttributes:
			e.DroppedAttributeCount = int(uint32(f.Number))
		}
		return err
	})
	return e, err
}

func decodeLink(b otlpwire.Fields) (l sdktrace.Link, err error) {
	var c trace.SpanContextConfig
	err = b.Each(func(f otlpwire.Field) (err error) {
		switch f.Tag {
		case linkTraceID:
			err = decodeID(c.TraceID[:], f.Body)
		case linkSpanID:
			err = decodeID(c.SpanID[:], f.Body)
		case linkTraceState:
			c.TraceState, _ = trace.ParseTraceState(string(f.Body)) // empty after an error
		case linkAttributes:
			l.Attributes, err = appendDecoded(l.Attributes, f.Body, decodeAttribute)
		case linkDroppedAttributes:
			l.DroppedAttributeCount = int(uint32(f.Number))
		case linkFlags:
			c.TraceFlags, c.Remote = trace.TraceFlags(f.Number), f.Number&isRemote != 0
		}
		return err
	})
	l.SpanContext = trace.NewSpanContext(c)
	return l, err
}

// statusCodes maps OTLP's numbers to codes. Other numbers are Unset.
var statusCodes = map[uint64]codes.Code{statusOk: codes.Ok, statusError: codes.Error}

func decodeStatus(b otlpwire.Fields) (s sdktrace.Status, err error) {
	err = b.Each(func(f otlpwire.Field) error {
		switch f.Tag {
		case statusMessage:
			s.Description = string(f.Body)
		case statusCode:
			s.Code = statusCodes[f.Number]
		}
		return nil
	})
	return s, err
}
