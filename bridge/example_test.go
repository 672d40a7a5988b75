package bridge_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A program with an OpenTelemetry set-up adds the processor beside its own. Without WithTimeline, the processor joins
// observer.ProcessTimeline, which is right for most programs.
func ExampleNewProcessor() {
	ctx := context.Background()
	timeline := observer.NewTimeline(observer.TimelineOptions{})
	backend := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSyncer(backend),
		sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: timeline})))
	defer func() { _ = provider.Shutdown(ctx) }()

	request, span := provider.Tracer("shop").Start(observer.NewContext(ctx, timeline), "GET /products/{id}")
	marks.Mark(request, "cache.miss")
	checkout, t := marks.Start(request, "checkout")
	marks.Time(checkout, "tariff").End()
	t.End()
	span.End()

	spans := backend.GetSpans()
	names := map[string]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	for _, s := range spans {
		fmt.Printf("%s, under %q, %d events\n", s.Name, names[s.Parent.SpanID().String()], len(s.Events))
	}
	// Output:
	// tariff, under "checkout", 0 events
	// checkout, under "GET /products/{id}", 0 events
	// GET /products/{id}, under "", 1 events
}
