package scope_test

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/internal/scope"
)

// Spans and metrics say which conventions they follow.
func TestScope(t *testing.T) {
	want := scope.Scope()
	if want.Name != scope.Name || want.SchemaURL != semconv.SchemaURL {
		t.Errorf("the scope is %+v", want)
	}
	_, span := scope.Tracer(sdktrace.NewTracerProvider()).Start(t.Context(), "span")
	defer span.End()
	if got := span.(sdktrace.ReadOnlySpan).InstrumentationScope(); got != want {
		t.Errorf("a span has %+v, want %+v", got, want)
	}
	reader := metric.NewManualReader()
	counter, err := scope.Meter(metric.NewMeterProvider(metric.WithReader(reader))).Int64Counter("counter")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 1)
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	if got := all.ScopeMetrics[0].Scope; got != want {
		t.Errorf("a metric has %+v, want %+v", got, want)
	}
}
