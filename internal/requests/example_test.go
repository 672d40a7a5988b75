package requests_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
)

// The most recent requests and the slowest, in the memory of the program. For marks and measures, register
// bridge.NewProcessor(bridge.ProcessorConfig{}) beside recent.
func ExampleNewRecent() {
	recent := requests.NewRecent(requests.Config{Requests: 100})
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recent))
	tracer := provider.Tracer("shop")

	began := time.Now()
	ctx, request := tracer.Start(context.Background(), "GET /search", trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindServer))
	_, query := tracer.Start(ctx, "sql.query", trace.WithTimestamp(began.Add(time.Millisecond)))
	query.End(trace.WithTimestamp(began.Add(18 * time.Millisecond)))
	request.End(trace.WithTimestamp(began.Add(20 * time.Millisecond)))

	slowest := recent.Slowest()[0].Request()
	for _, row := range requests.Rows(slowest) { // or requests.WriteWaterfall(os.Stdout, slowest, nil)
		fmt.Printf("%s%s %v\n", strings.Repeat("  ", row.Depth), row.Span.Name, row.Span.Duration())
	}
	// Output:
	// GET /search 20ms
	//   sql.query 17ms
}
