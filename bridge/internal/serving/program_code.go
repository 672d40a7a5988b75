package serving

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/internal/record"
)

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
