// Command otelhttp is hello with otelhttp, OpenTelemetry's SDK and its exporter over gRPC.
package main

import (
	"context"
	"io"
	"net/http"
	"os"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
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
	handler := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}
	traced := otelhttp.NewHandler(http.HandlerFunc(handler), "hello")
	err = http.ListenAndServe("localhost:8080", traced) //nolint:gosec // only built
	if err != nil {
		os.Exit(1)
	}
}
