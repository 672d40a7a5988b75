package serving

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/spanlabels"
)

// A Request is a request that arrives. Its methods are called while its span starts.
type Request interface {
	// AppendAttributes appends the attributes of the request.
	AppendAttributes(attrs []attribute.KeyValue) []attribute.KeyValue

	// Keep returns the attributes for a span that reads them when it is encoded. As a list they would take five times
	// the memory.
	Keep() Attributes
}

// Attributes are the attributes of a request and of its answer: [MaxAttributes] at most, which are valid, with distinct
// keys. Methods may be called concurrently.
type Attributes interface {
	// AppendRequest appends what is known when the request arrives. It is always the same.
	AppendRequest(attrs []attribute.KeyValue) []attribute.KeyValue

	// AppendAnswer appends what is known at the end. It is called after [RequestSpan].Answer only.
	AppendAnswer(attrs []attribute.KeyValue) []attribute.KeyValue
}

// MaxAttributes is how many attributes a request has, with its answer.
const MaxAttributes = 16

// A RequestSpan is a span of perfline's provider.
type RequestSpan interface {
	// Answer adds the attributes of the answer, which are known from now on.
	Answer(a Attributes)
}

// A Tracer starts the server spans of requests. It asks a request for its attributes only if the span or the sampler needs
// them. The tracers of perfline's provider are such.
type Tracer interface {
	StartServer(ctx context.Context, name string, r Request, newRoot bool, links []trace.Link) (context.Context, trace.Span)
}

// A Scratch has room for the attributes that a span is started or ended with.
type Scratch [MaxAttributes]attribute.KeyValue

// Scratches has scratches. OpenTelemetry's API copies attributes before it returns.
var Scratches = sync.Pool{New: func() any { return new(Scratch) }}

// StartSpan starts the server span of a request under the span in ctx. A public request's
// span begins a trace of its own, with a link to the caller's span.
func StartSpan(ctx context.Context, t trace.Tracer, name string, r Request, public bool) (context.Context, trace.Span) {
	var links []trace.Link
	if caller := trace.SpanContextFromContext(ctx); public && caller.IsValid() {
		links = []trace.Link{{SpanContext: caller}}
	}
	if t, ok := t.(Tracer); ok {
		return t.StartServer(ctx, name, r, public, links)
	}
	scratch, _ := Scratches.Get().(*Scratch)
	defer Scratches.Put(scratch)
	options := append(make([]trace.SpanStartOption, 0, 4), serverKind, trace.WithAttributes(r.AppendAttributes(scratch[:0])...))
	if public {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(links...))
	}
	ctx, span, _ := spanlabels.Start(ctx, t, name, options...)
	return ctx, span
}

var serverKind = trace.WithSpanKind(trace.SpanKindServer)
