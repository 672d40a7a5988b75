package spanlabels

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Start starts a span with tracer. The provider of tracer may label the calling goroutine, as the
// SDK's provider does after [WrapTracerProvider]. The returned context carries the span and the
// label. The returned label is nil if the span did not label the goroutine.
func Start(ctx context.Context, tracer trace.Tracer, name string,
	opts ...trace.SpanStartOption) (context.Context, trace.Span, *Span) {
	if !Enabled() {
		ctx, span := tracer.Start(ctx, name, opts...)
		return ctx, span, nil
	}
	before := Innermost()
	ctx, span := tracer.Start(ctx, name, opts...)
	label := Innermost()
	if label == nil || label == before || label.TraceID() != span.SpanContext().TraceID() {
		return ctx, span, nil
	}
	return NewContext(ctx, label), span, label
}

// Without returns a context for a span that the program starts after the span's work. If a span
// starts with exactly this context, [Set] labels no goroutine.
func Without(ctx context.Context) context.Context { return without{ctx} }

type without struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
}
