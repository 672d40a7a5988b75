// Package serving tells of the span and the timeline that a request is served under.
package serving

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/internal/record"
)

// spanAbove returns the span in ctx if other instrumentation made it for the request. This is a
// local server span that has not ended, or a local span without a known kind, such as a span that
// the SDK's sampler dropped.
func spanAbove(ctx context.Context) (_ trace.Span, ok bool) {
	span := trace.SpanFromContext(ctx)
	if sc := span.SpanContext(); !sc.IsValid() || sc.IsRemote() {
		return nil, false
	}
	switch s := span.(type) {
	case sdktrace.ReadOnlySpan:
		return span, s.SpanKind() == trace.SpanKindServer && s.EndTime().IsZero()
	case dropped:
		return span, s.SpanKind() == trace.SpanKindServer && !s.Ended()
	default:
		return span, true
	}
}

// dropped is a span that a bridge.TracerProvider's sampler dropped.
type dropped interface {
	SpanKind() trace.SpanKind
	Ended() bool
}

// Served reports whether this module serves the request with the context ctx already.
func Served(ctx context.Context) bool {
	_, served := record.FromContext(ctx).Timing(record.RequestStart)
	return served
}

// Timeline returns the timeline of a request that begins under span, and a context that leads to
// it. It is the span's unit if the span has one. Else it is made under parent, and the caller has
// to close it.
func Timeline(ctx context.Context, span trace.Span, parent *record.Timeline) (_ context.Context,
	t *record.Timeline, closes bool) {
	if s, ok := span.(record.Active); ok {
		t = &s.Unit().Timeline
	} else {
		t, closes = &parent.NewUnit(Start(span), nil).Timeline, true
		ctx = record.NewContext(ctx, t)
	}
	_ = t.SetTiming(record.RequestStart, 0) // a request's timeline takes it
	return ctx, t, closes
}

// Start returns when a span started, or the current time for a span without StartTime.
func Start(span trace.Span) time.Time {
	if s, ok := span.(sdktrace.ReadOnlySpan); ok {
		return s.StartTime()
	}
	return time.Now()
}

// This file calls what a program has given to a server or a client. A panic there is counted on the
// timeline, and the request goes on as if nothing had been given.

// What is counted of every kind of request.
const (
	OfPropagators = "a propagator"
	OfSpan        = "a tracer, or a span of another package"
	OfMeter       = "a meter provider"
)

// Asked returns the answer of f about a request, and the usual answer without f or if f panics.
func Asked[R, A any](tl *record.Timeline, what string, f func(R) A, r R, usual A) (answer A) {
	answer = usual
	if f != nil {
		tl.Try(what, func() { answer = f(r) })
	}
	return answer
}

// SpanAbove returns the span in ctx if other instrumentation made it for the request.
func SpanAbove(ctx context.Context, tl *record.Timeline) (span trace.Span, ok bool) {
	tl.Try(OfSpan, func() { span, ok = spanAbove(ctx) })
	return span, ok
}

// StartSpan starts the server span of a request under the span in ctx. A public request's span
// begins a trace of its own, with a link to the caller's span.
func StartSpan(ctx context.Context, tl *record.Timeline, t trace.Tracer, name string, r Request,
	public bool) (started context.Context, span trace.Span) {
	started, span = ctx, noop.Span{}
	tl.Try(OfSpan, func() { started, span = startSpan(ctx, t, name, r, public) }) //nolint:fatcontext // once
	return started, span
}

// Instrument reports an instrument that cannot be made. The instrument that comes with the error
// does nothing.
func Instrument[T any](t T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return t
}
