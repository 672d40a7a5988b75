// Command sdk is hello with OpenTelemetry's SDK and its exporter over gRPC.
package main

import (
	"context"
	"io"
	"net/http"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	exporter, err := otlptracegrpc.New(context.Background())
	if err != nil {
		os.Exit(1)
	}
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)))
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, span := otel.Tracer("hello").Start(r.Context(), "hello")
		_, _ = io.WriteString(w, "hello")
		span.End()
	}
	err = http.ListenAndServe("localhost:8080", http.HandlerFunc(handler)) //nolint:gosec // only built
	if err != nil {
		os.Exit(1)
	}
}
