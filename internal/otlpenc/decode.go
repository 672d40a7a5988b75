package otlpenc

import (
	"fmt"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/otlpwire"
)

// A Header has the ids and the times of a span.
type Header struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	ParentID   trace.SpanID // zero if it has no parent
	Remote     bool         // the parent is in another process
	TraceFlags trace.TraceFlags
	Start, End time.Time
}

// Duration returns the time from the span's start to its end.
func (h Header) Duration() time.Duration { return h.End.Sub(h.Start) }

// A Span is a decoded span. Its texts are copies: it does not retain the bytes it was made of.
type Span struct {
	Header
	Group      *Group // with its resource and scope
	TraceState string
	Name       string
	Kind       trace.SpanKind
	Attributes []attribute.KeyValue
	Events     []sdktrace.Event
	Links      []sdktrace.Link
	Status     sdktrace.Status

	DroppedAttributes, DroppedEvents, DroppedLinks int
}

// First reads the header of the first span into h, and returns the number of bytes of that span. It
// allocates nothing. It returns an error if the bytes do not begin with a span; then h is of no
// use. There must be some bytes.
func (s Spans) First(h *Header) (size int, err error) {
	*h = Header{Start: epoch, End: epoch}
	rest := fields(s.Bytes)
	body, err := rest.nextItem()
	if err == nil {
		err = body.each(h.field)
	}
	if err != nil {
		return 0, err
	}
	return len(s.Bytes) - len(rest), nil
}

// All yields the spans in order, decoded. They share no memory with the bytes. After an error it
// ends.
func (s Spans) All() iter.Seq2[Span, error] {
	return func(yield func(Span, error) bool) {
		for b := fields(s.Bytes); len(b) > 0; {
			decoded := Span{Header: Header{Start: epoch, End: epoch}, Group: s.group}
			body, err := b.nextItem()
			if err == nil {
				err = body.each(decoded.field)
			}
			if !yield(decoded, err) || err != nil {
				return
			}
		}
	}
}

// fields are an encoded message.
type fields []byte

// A field is one field of a message. Readers skip a field with an unknown tag, also if its number
// is known and its type is another one, as protobuf does.
type field struct {
	tag    uint64
	number uint64 // unless it is a text, bytes or a message
	body   []byte
}

// next removes the first field. b must not be empty.
func (b *fields) next() (f field, err error) {
	num, typ, n := protowire.ConsumeTag(*b)
	if n < 0 {
		return f, malformed(n)
	}
	rest := (*b)[n:]
	f.tag = protowire.EncodeTag(num, typ)
	switch typ {
	case protowire.VarintType:
		f.number, n = protowire.ConsumeVarint(rest)
	case protowire.Fixed64Type:
		f.number, n = protowire.ConsumeFixed64(rest)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(rest)
		f.number = uint64(v)
	case protowire.BytesType:
		f.body, n = protowire.ConsumeBytes(rest)
	default:
		n = protowire.ConsumeFieldValue(num, typ, rest)
	}
	if n < 0 {
		return f, malformed(n)
	}
	*b = rest[n:]
	return f, nil
}

// each calls do for each field, until it returns an error.
func (b fields) each(do func(field) error) error {
	for len(b) > 0 {
		f, err := b.next()
		if err == nil {
			err = do(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nextItem removes the first field, which must be a span or a log record.
func (b *fields) nextItem() (fields, error) {
	f, err := b.next()
	if err == nil && f.tag != otlpwire.Items {
		err = fmt.Errorf("otlpenc: malformed span: field %d of type %d among spans, want %d of type %d", f.tag>>3, f.tag&7, otlpwire.Items>>3, otlpwire.Items&7)
	}
	return f.body, err
}

func malformed(n int) error {
	return fmt.Errorf("otlpenc: malformed span: %w", protowire.ParseError(n))
}

func (h *Header) field(f field) error {
	switch f.tag {
	case spanTraceID:
		return decodeID(h.TraceID[:], f.body)
	case spanSpanID:
		return decodeID(h.SpanID[:], f.body)
	case spanParentSpanID:
		return decodeID(h.ParentID[:], f.body)
	case spanStart:
		h.Start = moment(f.number)
	case spanEnd:
		h.End = moment(f.number)
	case spanFlags:
		h.flags(f.number)
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

// epoch is a time that is not in the bytes.
var epoch = moment(0)

func moment(n uint64) time.Time { return time.Unix(int64(n/1e9), int64(n%1e9)) }

func (s *Span) field(f field) (err error) {
	switch f.tag {
	case spanTraceState:
		s.TraceState = string(f.body)
	case spanName:
		s.Name = string(f.body)
	case spanKind:
		s.Kind = trace.SpanKind(int32(f.number))
	case spanAttributes:
		s.Attributes, err = appendDecoded(s.Attributes, f.body, decodeAttribute)
	case spanDroppedAttributes:
		s.DroppedAttributes = int(uint32(f.number))
	case spanEvents:
		s.Events, err = appendDecoded(s.Events, f.body, decodeEvent)
	case spanDroppedEvents:
		s.DroppedEvents = int(uint32(f.number))
	case spanLinks:
		s.Links, err = appendDecoded(s.Links, f.body, decodeLink)
	case spanDroppedLinks:
		s.DroppedLinks = int(uint32(f.number))
	case spanStatus:
		s.Status, err = decodeStatus(f.body)
	default:
		err = s.Header.field(f)
	}
	return err
}

func appendDecoded[T any](all []T, b fields, decode func(fields) (T, error)) ([]T, error) {
	element, err := decode(b)
	if err != nil {
		return all, err
	}
	return append(all, element), nil
}

func decodeEvent(b fields) (e sdktrace.Event, err error) {
	e.Time = epoch
	err = b.each(func(f field) (err error) {
		switch f.tag {
		case eventTime:
			e.Time = moment(f.number)
		case eventName:
			e.Name = string(f.body)
		case eventAttributes:
			e.Attributes, err = appendDecoded(e.Attributes, f.body, decodeAttribute)
		case eventDroppedAttributes:
			e.DroppedAttributeCount = int(uint32(f.number))
		}
		return err
	})
	return e, err
}

func decodeLink(b fields) (l sdktrace.Link, err error) {
	var c trace.SpanContextConfig
	err = b.each(func(f field) (err error) {
		switch f.tag {
		case linkTraceID:
			err = decodeID(c.TraceID[:], f.body)
		case linkSpanID:
			err = decodeID(c.SpanID[:], f.body)
		case linkTraceState:
			c.TraceState, _ = trace.ParseTraceState(string(f.body)) // empty if it is wrong
		case linkAttributes:
			l.Attributes, err = appendDecoded(l.Attributes, f.body, decodeAttribute)
		case linkDroppedAttributes:
			l.DroppedAttributeCount = int(uint32(f.number))
		case linkFlags:
			c.TraceFlags, c.Remote = trace.TraceFlags(f.number), f.number&isRemote != 0
		}
		return err
	})
	l.SpanContext = trace.NewSpanContext(c)
	return l, err
}

// statusCodes are codes by their number in OTLP. Other numbers are Unset.
var statusCodes = map[uint64]codes.Code{statusOk: codes.Ok, statusError: codes.Error}

func decodeStatus(b fields) (s sdktrace.Status, err error) {
	err = b.each(func(f field) error {
		switch f.tag {
		case statusMessage:
			s.Description = string(f.body)
		case statusCode:
			s.Code = statusCodes[f.number]
		}
		return nil
	})
	return s, err
}
