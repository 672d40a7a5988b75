package exporter_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/exporter"
)

// A memory is a receiver in the process. Programs with a Collector need none.
type memory struct{ requests int }

func (m *memory) Send(_ context.Context, _ []byte) exporter.Answer {
	m.requests++
	return exporter.Answer{}
}

// Without a Sender, the variables of OpenTelemetry say where spans go: exporter.NewDelivery(exporter.Config{}).
func ExampleNewDelivery() {
	receiver := &memory{}
	spans, err := exporter.NewDelivery(exporter.Config{Sender: receiver})
	if err != nil {
		fmt.Println(err)
		return
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))

	tracer := provider.Tracer("shop")
	ctx, order := tracer.Start(context.Background(), "POST /orders")
	_, charge := tracer.Start(ctx, "charge")
	charge.End()
	order.End()

	if err := provider.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	s := spans.Stats()
	fmt.Println("requests:", receiver.requests)
	fmt.Println("accepted:", s.Accepted, "delivered:", s.Delivered, "failed:", s.Failed, "dropped:", s.Dropped, "pending:", s.Pending)
	// Output:
	// requests: 1
	// accepted: 2 delivered: 2 failed: 0 dropped: 0 pending: 0
}
