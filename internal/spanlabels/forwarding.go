package spanlabels

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// A forwarding is a tracer of a provider without span processors: OpenTelemetry's global provider
// before a provider is set, or a provider around it. When the wrapper is set globally, the global
// provider forwards to the wrapper, and asks the wrapper for tracers with OpenTelemetry's lock
// held. So a forwarding asks for its own tracer only at the first span, and marks the context of
// that call.
type forwarding struct {
	embedded.Tracer
	provider *TracerProvider
	name     string
	options  []trace.TracerOption
	tracer   atomic.Pointer[trace.Tracer] // nil before the first span
}

// awaited is the context key of the circle of a provider's current call.
type awaited struct{ provider *TracerProvider }

// A circle reports that a tracer has led back to the provider that called it.
type circle struct{ closed atomic.Bool }

func (f *forwarding) Start(ctx context.Context, name string,
	o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if c, _ := ctx.Value(awaited{f.provider}).(*circle); c != nil {
		c.closed.Store(true)
		return noop.Tracer{}.Start(ctx, name, o...)
	}
	started, span, ok := f.start(ctx, f.inner(), name, o)
	if !ok { // OpenTelemetry's provider forwards to the first one for ever; try the latest
		started, span, ok = f.start(ctx, otel.GetTracerProvider().Tracer(f.name, f.options...),
			name, o)
	}
	if !ok && f.provider.circular.CompareAndSwap(false, true) {
		otel.Handle(errCircular)
	}
	return context.WithValue(started, awaited{f.provider}, (*circle)(nil)), span
}

var errCircular = errors.New(
	"profiling: no spans are made, because the global tracer provider is a wrapper around itself: " +
		"set a provider before WrapTracerProvider(otel.GetTracerProvider())")

// start starts a span with a tracer. It returns false if the tracer has led back here.
func (f *forwarding) start(ctx context.Context, tracer trace.Tracer, name string,
	o []trace.SpanStartOption) (context.Context, trace.Span, bool) {
	c := &circle{}
	started, span := tracer.Start(context.WithValue(ctx, awaited{f.provider}, c), name, o...)
	// A processor that starts another span under the same context closes the circle, too. Then the
	// span differs from its parent.
	closed := c.closed.Load() && span.SpanContext().Equal(trace.SpanContextFromContext(ctx))
	return started, span, !closed
}

func (f *forwarding) inner() trace.Tracer {
	if t := f.tracer.Load(); t != nil {
		return *t
	}
	t := f.provider.provider.Tracer(f.name, f.options...)
	f.tracer.Store(&t)
	return t
}
