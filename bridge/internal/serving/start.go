package serving

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/spanlabels"
)

// A Request has the attributes of a request that arrives.
type Request interface {
	AppendAttributes(attrs []attribute.KeyValue) []attribute.KeyValue
}

// A Tracer starts the server spans of requests. It asks a request for its attributes only if the span or the sampler needs
// them. The tracers of perfline's provider are such.
type Tracer interface {
	StartServer(ctx context.Context, name string, r Request, newRoot bool, links []trace.Link) (context.Context, trace.Span)
}

// A Scratch has room for the attributes that a span is started or ended with.
type Scratch [16]attribute.KeyValue

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
