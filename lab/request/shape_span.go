package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// The fan-out has so many children, from so many goroutines.
const (
	children   = 10_000
	goroutines = 8
)

// spanShapes have no HTTP, only spans as other instrumentation makes them.
var spanShapes = []shape{
	{name: "span", title: "one span with 2 attributes", spans: 1, sampler: always,
		open: openSpans(startAndEnd)},
	{name: "unit", title: "a root and 20 spans under it, each with 2 attributes", spans: 21,
		sampler: always, open: openSpans(startUnit)},
	{name: "fan-out", title: "a root and 10 000 spans under it from 8 goroutines, each with 2 attributes", spans: 1 + children, sampler: always, open: openSpans(startFanOut), burst: 1},
}

// openSpans returns a workload that only makes spans.
func openSpans(work func(context.Context, trace.Tracer)) func(instrumentation) (*workload, error) {
	return func(i instrumentation) (*workload, error) {
		handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if i.tracer != nil {
				work(r.Context(), i.tracer)
			}
		})
		return &workload{handler: handler,
			request: httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/",
				http.NoBody)}, nil
	}
}

func startAndEnd(ctx context.Context, tracer trace.Tracer) {
	_, span := tracer.Start(ctx, "stock.query",
		trace.WithAttributes(attribute.String("stock.site", "north"),
			attribute.Int("stock.parts", 3)))
	span.End()
}

func startUnit(ctx context.Context, tracer trace.Tracer) {
	ctx, root := tracer.Start(ctx, "order",
		trace.WithAttributes(attribute.String("order.kind", "web"),
			attribute.Int("order.id", 1009)))
	for range queries {
		startAndEnd(ctx, tracer)
	}
	root.End()
}

func startFanOut(ctx context.Context, tracer trace.Tracer) {
	ctx, root := tracer.Start(ctx, "import",
		trace.WithAttributes(attribute.String("order.kind", "file"),
			attribute.Int("order.id", 1009)))
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range children / goroutines {
				startAndEnd(ctx, tracer)
			}
		})
	}
	all.Wait()
	root.End()
}
