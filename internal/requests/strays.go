package requests

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/stray"
)

// NoteStray counts a span that starts in a context without a span, at the place on the caller's
// stack. A [bridge.TracerProvider] with r among the recorders calls NoteStray. The SDK's providers
// call [Recent.OnStart] instead.
func (r *Recent) NoteStray(name, scope string, kind trace.SpanKind, attrs []attribute.KeyValue) {
	if stray.Is(kind, name) {
		r.strays.Note(scope, kind, attrs)
	}
}

// NoteRequest ends the start of the program: a request starts. See [stray.Table.NoteRequest].
func (r *Recent) NoteRequest() { r.strays.NoteRequest() }

// OnStart counts a span that starts in a context without a span. A span of kind server or consumer
// is a request.
func (r *Recent) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	if kind := s.SpanKind(); kind == trace.SpanKindServer || kind == trace.SpanKindConsumer {
		r.strays.NoteRequest()
		return
	}
	// Parent is quicker, and does not know the span above a new root.
	if s.Parent().IsValid() || trace.SpanContextFromContext(parent).IsValid() {
		return
	}
	if kind := s.SpanKind(); stray.Is(kind, s.Name()) {
		r.strays.Note(s.InstrumentationScope().Name, kind, s.Attributes())
	}
}

// Strays returns the places of the queries, commands, calls, messages and marks without a request,
// since the first request, or since the start before the first request.
func (r *Recent) Strays() []stray.Place {
	all := r.strays.Places()
	if r.c.Timeline != nil {
		all = append(all, stray.Marks(r.c.Timeline, r.strays.Since())...)
	}
	return all
}

// HasServed reports whether a request has started.
func (r *Recent) HasServed() bool { return !r.strays.Since().IsZero() }
