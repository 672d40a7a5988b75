package bridge_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

// A processor of OpenTelemetry's SDK works with the provider.
func ExampleNewTracerProvider() {
	spans := tracetest.NewSpanRecorder()
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Sampler:    sdktrace.ParentBased(sdktrace.TraceIDRatioBased(1)),
		Processors: []sdktrace.SpanProcessor{spans},
	})
	ctx := context.Background()
	_, span := provider.Tracer("shop").Start(ctx, "order", trace.WithAttributes(attribute.Int("items", 3)))
	span.End()
	if err := provider.Shutdown(ctx); err != nil {
		fmt.Println(err)
	}
	for _, s := range spans.Ended() {
		fmt.Println(s.Name(), s.Attributes()[0].Key, s.Attributes()[0].Value.AsInt64())
	}
	// Output: order items 3
}
