package serving

import (
	"context"
	"net/netip"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/spanlabels"
)

// A Request is a request that arrives, and is answered. Its methods do not keep f.
type Request interface {
	// Tell notes in f what the attributes of the request are made of. It is called while the span
	// starts.
	Tell(f *Facts)

	// TellAnswer notes in f what the attributes of the answer are made of. It is called by
	// [Answer].
	TellAnswer(f *Facts)
}

// Facts are what the attributes of a request and of its answer are made of when the span is
// encoded: many spans never are. They are a part of the span, so that they cost no memory of their
// own. They refer to nothing that belongs to the request.
type Facts struct {
	Form      Form // says what the others mean
	Texts     [8]string
	Numbers   [3]int64
	Addresses [2]netip.AddrPort
	Kind      any // of the answer; a pointer
}

// A Form makes attributes of facts: [MaxAttributes] at most, which are valid, with distinct keys,
// in UTF-8. Methods may be called concurrently.
type Form interface {
	// Request gives what is known when the request arrives. It is always the same.
	Request(f *Facts, to AttributeSink)

	// Answer gives what is known at the end. It is called after [RequestSpan].Answer only.
	Answer(f *Facts, to AttributeSink)
}

// Size returns the bytes of the texts.
func (f *Facts) Size() (n int) {
	for _, text := range &f.Texts {
		n += len(text)
	}
	return n
}

// An AttributeSink takes attributes: it encodes them, or makes a list of them.
type AttributeSink interface {
	Text(key attribute.Key, value string)
	Int(key attribute.Key, value int64)
	KeyValues(attrs []attribute.KeyValue)
}

// Text gives an attribute unless its value is empty, because it is unknown.
func Text(to AttributeSink, key attribute.Key, value string) {
	if value != "" {
		to.Text(key, value)
	}
}

// Int gives an attribute unless its value is not positive, because it is unknown.
func Int(to AttributeSink, key attribute.Key, value int64) {
	if value > 0 {
		to.Int(key, value)
	}
}

// MaxAttributes is how many attributes a request has, with its answer.
const MaxAttributes = 16

// A RequestSpan is a span of perfline's provider.
type RequestSpan interface {
	// Takes reports whether the span takes what it is told. It may do so although IsRecording is
	// false.
	Takes() bool

	// Answer adds the attributes of the answer, which are known from now on.
	Answer(r Request)

	// ExportedUnsampled reports whether a span that has ended is exported although the sampler
	// dropped it.
	ExportedUnsampled() bool
}

// MetricsContext returns the context for the metrics of a request whose span has ended. If the
// request is exported although the sampler dropped it, its span counts as sampled there, so that
// exemplars lead to it.
func MetricsContext(ctx context.Context, span trace.Span) context.Context {
	if s, ok := span.(RequestSpan); ok && s.ExportedUnsampled() {
		sc := span.SpanContext()
		return trace.ContextWithSpanContext(ctx,
			sc.WithTraceFlags(sc.TraceFlags().WithSampled(true)))
	}
	return ctx
}

// Answer gives a span the attributes of the answer.
func Answer(span trace.Span, r Request) {
	if s, ok := span.(RequestSpan); ok {
		s.Answer(r)
		return
	}
	list := NewAttributeList()
	defer list.Free()
	r.TellAnswer(&list.Facts)
	list.Facts.Form.Answer(&list.Facts, list)
	span.SetAttributes(list.Attributes...)
}

// Takes reports whether a span takes what it is told.
func Takes(span trace.Span) bool {
	if s, ok := span.(RequestSpan); ok {
		return s.Takes()
	}
	return span.IsRecording()
}

// A Tracer is a tracer of perfline's provider. It asks a request for its attributes only if the
// span or the sampler needs them.
type Tracer interface {
	StartServer(ctx context.Context, name string, r Request, newRoot bool,
		links []trace.Link) (context.Context, trace.Span)
}

// An AttributeList makes a list of attributes. It has room for the facts that these are made of.
type AttributeList struct {
	Attributes []attribute.KeyValue
	Facts      Facts
}

var _ AttributeSink = (*AttributeList)(nil)

var lists = sync.Pool{New: func() any {
	return &AttributeList{Attributes: make([]attribute.KeyValue,
		0, MaxAttributes)}
}}

// NewAttributeList returns an empty list, which the caller frees.
func NewAttributeList() *AttributeList { return lists.Get().(*AttributeList) }

// Free gives the list away. OpenTelemetry's API has copied the attributes.
func (l *AttributeList) Free() {
	l.Attributes, l.Facts = l.Attributes[:0], Facts{}
	lists.Put(l)
}

// Text implements [AttributeSink].
func (l *AttributeList) Text(key attribute.Key, value string) {
	l.Attributes = append(l.Attributes, key.String(value))
}

// Int implements [AttributeSink].
func (l *AttributeList) Int(key attribute.Key, value int64) {
	l.Attributes = append(l.Attributes, key.Int64(value))
}

// KeyValues implements [AttributeSink].
func (l *AttributeList) KeyValues(attrs []attribute.KeyValue) {
	l.Attributes = append(l.Attributes, attrs...)
}

// startSpan starts the server span of a request. The span of a public request begins a trace, with
// a link to the span in ctx.
func startSpan(ctx context.Context, t trace.Tracer, name string, r Request,
	public bool) (context.Context, trace.Span) {
	var links []trace.Link
	if public && trace.SpanContextFromContext(ctx).IsValid() {
		links = []trace.Link{trace.LinkFromContext(ctx)}
	}
	if t, ok := t.(Tracer); ok {
		return t.StartServer(ctx, name, r, public, links)
	}
	list := NewAttributeList()
	defer list.Free()
	r.Tell(&list.Facts)
	list.Facts.Form.Request(&list.Facts, list)
	options := append(make([]trace.SpanStartOption, 0, 4), serverKind,
		trace.WithAttributes(list.Attributes...))
	if public {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(links...))
	}
	ctx, span, _ := spanlabels.Start(ctx, t, name, options...)
	return ctx, span
}

var serverKind = trace.WithSpanKind(trace.SpanKindServer)
