package bridge_test

import (
	"context"
	"fmt"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

// A routeCounter is an output that counts the spans of each route. A route is the name of a
// request's local root at its end.
type routeCounter struct {
	mu     sync.Mutex            // guards what follows
	spans  map[trace.TraceID]int // of requests that have not ended
	routes map[string]int
}

var _ bridge.Output = (*routeCounter)(nil)

// Accept counts spans. Those of one request may come in several lists: the last list has the root.
func (c *routeCounter) Accept(all []bridge.Spans) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := map[trace.TraceID]string{}
	for _, s := range all {
		c.spans[s.TraceID] += s.Count
		if root := s.Root(); root != nil {
			ended[s.TraceID] = root.Name
		}
	}
	for id, route := range ended {
		c.routes[route] += c.spans[id]
		delete(c.spans, id)
	}
}

func (*routeCounter) ForceFlush(context.Context) error { return nil }
func (*routeCounter) Shutdown(context.Context) error   { return nil }

// A program's own output gets the same spans as exporter.Delivery.
func ExampleOutput() {
	counter := &routeCounter{spans: map[trace.TraceID]int{}, routes: map[string]int{}}
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Sampler:   sdktrace.AlwaysSample(),
		Exporters: []bridge.Output{counter},
	})
	tracer := provider.Tracer("shop")
	for range 2 {
		ctx, request := tracer.Start(context.Background(), "GET /items/{id}", trace.WithSpanKind(trace.SpanKindServer))
		_, query := tracer.Start(ctx, "SELECT items")
		query.End()
		request.End()
	}
	if err := provider.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(counter.routes)
	// Output: map[GET /items/{id}:4]
}
