package serving

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/spanlabels"
)

// A Tracer starts server spans, and copies their attributes once. With the options of OpenTelemetry's API it would be
// twice. The tracers of perfline's provider are such.
type Tracer interface {
	StartServer(ctx context.Context, name string, attrs []attribute.KeyValue, newRoot bool, links []trace.Link) (context.Context, trace.Span)
}

// A Scratch has room for the attributes that a span is started or ended with.
type Scratch [16]attribute.KeyValue

// Scratches has scratches. OpenTelemetry's API, and a Tracer, copy attributes before they return.
var Scratches = sync.Pool{New: func() any { return new(Scratch) }}

// StartSpan starts the server span of a request under the span in ctx. A public request's
// span begins a trace of its own, with a link to the caller's span.
func StartSpan(ctx context.Context, t trace.Tracer, name string, attrs []attribute.KeyValue, public bool) (context.Context, trace.Span) {
	var links []trace.Link
	if caller := trace.SpanContextFromContext(ctx); public && caller.IsValid() {
		links = []trace.Link{{SpanContext: caller}}
	}
	if t, ok := t.(Tracer); ok {
		return t.StartServer(ctx, name, attrs, public, links)
	}
	options := append(make([]trace.SpanStartOption, 0, 4), serverKind, trace.WithAttributes(attrs...))
	if public {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(links...))
	}
	ctx, span, _ := spanlabels.Start(ctx, t, name, options...)
	return ctx, span
}

var serverKind = trace.WithSpanKind(trace.SpanKindServer)
