package recipes_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgetest"
)

// record makes a recorder the global provider, and returns a context with a request's span.
func record(t *testing.T) (rec *bridgetest.Recorder, request context.Context, end func()) {
	t.Helper()
	rec = bridgetest.New(t)
	before, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	otel.SetTracerProvider(rec.TracerProvider())
	otel.SetTextMapPropagator(propagation.TraceContext{})
	t.Cleanup(func() {
		otel.SetTracerProvider(before)
		otel.SetTextMapPropagator(propagator)
	})
	ctx, span := rec.TracerProvider().Tracer("t").Start(rec.Context(t.Context()), "GET /items", trace.WithSpanKind(trace.SpanKindServer))
	return rec, ctx, func() { span.End() }
}
