package exporter_test

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge/bridgelog"
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

// Log records have a delivery of their own, here for those of the log SDK. Without a Sender,
// OTEL_EXPORTER_OTLP_LOGS_* say where they go.
func ExampleNewLogDelivery() {
	receiver := &memory{}
	logs, err := exporter.NewLogDelivery(exporter.Config{Sender: receiver})
	if err != nil {
		fmt.Println(err)
		return
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(bridgelog.NewProcessor(logs, nil)))

	var event log.Record
	event.SetEventName("cache miss")
	event.AddAttributes(attribute.String("key", "cart-42"))
	provider.Logger("shop").Emit(context.Background(), event)

	// The delivery may have records of others, so that the program shuts both down.
	if err := errors.Join(provider.Shutdown(context.Background()), logs.Shutdown(context.Background())); err != nil {
		fmt.Println(err)
	}
	s := logs.Stats()
	fmt.Println("requests:", receiver.requests)
	fmt.Println("accepted:", s.Accepted, "delivered:", s.Delivered, "failed:", s.Failed, "dropped:", s.Dropped, "pending:", s.Pending)
	// Output:
	// requests: 1
	// accepted: 1 delivered: 1 failed: 0 dropped: 0 pending: 0
}
