// Package serving starts the span and the timeline of a request that a server serves.
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

// spanAbove returns the span in ctx if the span is local and may be the request's server span: an
// open server span, or a span of unknown kind, such as a span that the SDK's sampler dropped.
func spanAbove(ctx context.Context) (_ trace.Span, ok bool) {
	span := trace.SpanFromContext(ctx)
	if sc := span.SpanContext(); !sc.IsValid() || sc.IsRemote() {
		return nil, false
	}
	switch s := span.(type) {
	case sdktrace.ReadOnlySpan:
		return span, s.SpanKind() == trace.SpanKindServer && s.EndTime().IsZero()
	case droppedSpan:
		return span, s.SpanKind() == trace.SpanKindServer && !s.Ended()
	default:
		return span, true
	}
}

// A droppedSpan is a span that the sampler of a bridge.TracerProvider dropped.
type droppedSpan interface {
	SpanKind() trace.SpanKind
	Ended() bool
}

// Served reports whether bridgehttp or bridgegrpc already serves the request with the context ctx.
func Served(ctx context.Context) bool {
	_, served := record.FromContext(ctx).Timing(record.RequestStart)
	return served
}

// Timeline returns the timeline of a request that starts under span, and a context that leads to
// the timeline. A span of perfline's provider has a timeline. For another span, Timeline makes a
// child of parent, and the caller must close the child: closes is true.
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

// Start returns the start time of span, or the current time if the span has no method StartTime.
func Start(span trace.Span) time.Time {
	if s, ok := span.(sdktrace.ReadOnlySpan); ok {
		return s.StartTime()
	}
	return time.Now()
}

// The names of the program's code in the reports of panics. A panic of the program's code is counted
// on the timeline, and the request continues without the code's result.
const (
	OfPropagators = "a propagator"
	OfSpan        = "a tracer, or a span of another package"
	OfMeter       = "a meter provider"
)

// Asked returns f(r), or usual if f is nil or panics.
func Asked[R, A any](tl *record.Timeline, what string, f func(R) A, r R, usual A) A {
	if f != nil {
		tl.Try(what, func() { usual = f(r) })
	}
	return usual
}

// SpanAbove returns the span in ctx if other instrumentation made that span for the request.
func SpanAbove(ctx context.Context, tl *record.Timeline) (span trace.Span, ok bool) {
	tl.Try(OfSpan, func() { span, ok = spanAbove(ctx) })
	return span, ok
}

// StartSpan starts the server span of a request under the span in ctx. The span of a public request
// starts a new trace, with a link to the caller's span.
func StartSpan(ctx context.Context, tl *record.Timeline, t trace.Tracer, name string, r Request,
	public bool) (started context.Context, span trace.Span) {
	started, span = ctx, noop.Span{}
	tl.Try(OfSpan, func() { started, span = startSpan(ctx, t, name, r, public) }) //nolint:fatcontext // once
	return started, span
}

// Instrument returns t, and reports err unless err is nil. An instrument that comes with an error
// does nothing.
func Instrument[T any](t T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return t
}
