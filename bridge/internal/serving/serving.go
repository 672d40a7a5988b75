// Package serving tells of the span and the timeline that a request is served under.
package serving

import (
	"context"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
)

// Span is the span in ctx if it is other instrumentation's for the request: a local
// server span that runs, or a local one that is not recorded, which does not tell.
func Span(ctx context.Context) (_ trace.Span, ok bool) {
	span := trace.SpanFromContext(ctx)
	if sc := span.SpanContext(); !sc.IsValid() || sc.IsRemote() {
		return nil, false
	}
	s, ok := span.(sdktrace.ReadOnlySpan)
	return span, !ok || runs(s)
}

// runs reports whether s is a server span that has not ended.
func runs(s sdktrace.ReadOnlySpan) bool {
	return s.SpanKind() == trace.SpanKindServer && s.EndTime().IsZero()
}

// Served reports whether a request with the context ctx is served by this module already.
func Served(ctx context.Context) bool {
	t := observer.FromContext(ctx)
	if t.Parent() == nil {
		return false
	}
	span := trace.SpanFromContext(ctx)
	if _, own := span.(observer.Active); !own {
		return true
	}
	if s, ok := span.(sdktrace.ReadOnlySpan); ok && runs(s) && s.InstrumentationScope().Name == bridge.ScopeName {
		return true
	}
	_, served := t.Timing(observer.RequestStart)
	return served
}

// Timeline returns the timeline of a request that is served under span, and a context that leads to it. It is the span's if
// that has one. Else it is made under parent, and has to be closed.
func Timeline(ctx context.Context, span trace.Span, parent *observer.Timeline) (_ context.Context, t *observer.Timeline, closes bool) {
	if s, ok := span.(observer.Active); ok {
		return ctx, s.Unit(), false
	}
	t = parent.NewChildAt(Start(span))
	return observer.NewContext(ctx, t), t, true
}

// Start is when a span started, so that one reading of the clock serves it and its entry. Of a span that does not tell it
// is now.
func Start(span trace.Span) time.Time {
	if s, ok := span.(sdktrace.ReadOnlySpan); ok {
		return s.StartTime()
	}
	return time.Now()
}
