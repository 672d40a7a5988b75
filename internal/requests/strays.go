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

// OnStart counts a span that starts in a context without a span.
func (r *Recent) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	// Parent is quicker, and does not know the span above a new root.
	if s.Parent().IsValid() || trace.SpanContextFromContext(parent).IsValid() {
		return
	}
	if kind := s.SpanKind(); stray.Is(kind, s.Name()) {
		r.strays.Note(s.InstrumentationScope().Name, kind, s.Attributes())
	}
}

// Strays returns the places of the queries, calls, messages and marks without a request, since the
// start.
func (r *Recent) Strays() []stray.Place {
	all := r.strays.Places()
	if r.c.Timeline != nil {
		all = append(all, stray.Marks(r.c.Timeline)...)
	}
	return all
}
