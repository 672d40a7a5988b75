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

// A forwarding makes spans with a provider that takes no span processors. That may be
// OpenTelemetry's global one before a provider is set, or a provider around it, which forward to
// the wrapper when the wrapper is set globally. OpenTelemetry asks the wrapper for tracers with its
// lock held then. So a forwarding asks for its tracer at the first span, and notes in the context
// that it waits for one.
type forwarding struct {
	embedded.Tracer
	provider *TracerProvider
	name     string
	options  []trace.TracerOption
	tracer   atomic.Pointer[trace.Tracer] // nil before the first span
}

// awaited is the key of the circle in the context of a span that a forwarding of the provider waits
// for.
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
	// OpenTelemetry's provider forwards to the first one for ever; a later one is the global one
	if !ok {
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

// start starts a span with a tracer, and reports whether the tracer has not led back here.
func (f *forwarding) start(ctx context.Context, tracer trace.Tracer, name string,
	o []trace.SpanStartOption) (context.Context, trace.Span, bool) {
	c := &circle{}
	started, span := tracer.Start(context.WithValue(ctx, awaited{f.provider}, c), name, o...)
	// A processor that starts another span under the same context closes the circle, too. Then this
	// span is another one than its parent.
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
