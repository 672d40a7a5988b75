// Package serving tells of the span that a request is served under.
package serving

import (
	"context"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Span is the span in ctx if it is other instrumentation's for the request: a local
// server span that runs, or a local one that is not recorded, which does not tell.
func Span(ctx context.Context) (_ trace.Span, ok bool) {
	span := trace.SpanFromContext(ctx)
	if sc := span.SpanContext(); !sc.IsValid() || sc.IsRemote() {
		return nil, false
	}
	s, ok := span.(sdktrace.ReadOnlySpan)
	return span, !ok || (s.SpanKind() == trace.SpanKindServer && s.EndTime().IsZero())
}

// Start is when a span started, so that one reading of the clock serves it and
// the request's timeline: the timeline's entries and the span's children then
// agree to the nanosecond. Of a span that does not tell it is now.
func Start(span trace.Span) time.Time {
	if s, ok := span.(sdktrace.ReadOnlySpan); ok {
		return s.StartTime()
	}
	return time.Now()
}
