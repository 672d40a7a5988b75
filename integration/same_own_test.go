package integration

import (
	"context"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
)

// byOwnProvider makes the same spans with perfline's provider and sends them.
func byOwnProvider(ctx context.Context, t *testing.T, _ string, spans []sdktrace.ReadOnlySpan) {
	t.Helper()
	d, err := exporter.NewDelivery(exporter.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spans {
		again(t, s, d)
	}
	if err := d.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if s := d.Stats(); s.Delivered != uint64(len(spans)) || s.Accepted != s.Delivered {
		t.Errorf("the books of %d spans: %+v", len(spans), s)
	}
}

// again makes a span that equals s. Its limits drop as much as s has dropped.
func again(t *testing.T, s sdktrace.ReadOnlySpan, to bridge.Output) {
	t.Helper()
	limits := sdktrace.NewSpanLimits()
	limits.EventCountLimit, limits.LinkCountLimit = len(s.Events()), len(s.Links())
	for _, e := range s.Events() {
		limits.AttributePerEventCountLimit = max(len(e.Attributes), 1)
	}
	for _, l := range s.Links() {
		limits.AttributePerLinkCountLimit = max(len(l.Attributes), 1)
	}
	tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Resource: s.Resource(), Limits: &limits, IDs: sameIDs{s.SpanContext()}, Sampler: sdktrace.AlwaysSample(), Exporters: []bridge.Output{flushed{to}},
	})
	parent := s.Parent().WithTraceFlags(s.SpanContext().TraceFlags()).WithTraceState(s.SpanContext().TraceState())
	scope := s.InstrumentationScope()
	_, span := tp.Tracer(scope.Name, trace.WithInstrumentationVersion(scope.Version), trace.WithSchemaURL(scope.SchemaURL),
		trace.WithInstrumentationAttributes(scope.Attributes.ToSlice()...)).
		Start(trace.ContextWithSpanContext(context.Background(), parent), s.Name(), trace.WithSpanKind(s.SpanKind()),
			trace.WithTimestamp(s.StartTime()), trace.WithAttributes(s.Attributes()...))
	span.SetAttributes(make([]attribute.KeyValue, s.DroppedAttributes())...) // they are not valid
	for range s.DroppedEvents() {
		span.AddEvent("before the others")
	}
	for _, e := range s.Events() {
		span.AddEvent(e.Name, trace.WithTimestamp(e.Time), trace.WithAttributes(e.Attributes...),
			trace.WithAttributes(make([]attribute.KeyValue, e.DroppedAttributeCount)...))
	}
	for range s.DroppedLinks() {
		span.AddLink(trace.Link{SpanContext: s.SpanContext()})
	}
	for _, l := range s.Links() {
		span.AddLink(trace.Link{SpanContext: l.SpanContext, Attributes: slices.Concat(l.Attributes, make([]attribute.KeyValue, l.DroppedAttributeCount))})
	}
	span.SetStatus(s.Status().Code, s.Status().Description)
	span.End(trace.WithTimestamp(s.EndTime()))
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// sameIDs makes the ids of one span.
type sameIDs struct{ sc trace.SpanContext }

func (g sameIDs) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	return g.sc.TraceID(), g.sc.SpanID()
}
func (g sameIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return g.sc.SpanID() }

// flushed is an output that is shut down elsewhere.
type flushed struct{ bridge.Output }

func (flushed) ForceFlush(context.Context) error { return nil }
func (flushed) Shutdown(context.Context) error   { return nil }
