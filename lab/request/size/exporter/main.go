// Command exporter is hello with OpenTelemetry's SDK and perfline's exporter.
package main

import (
	"io"
	"net/http"
	"os"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/exporter"
)

func main() {
	spans, err := exporter.NewDelivery(exporter.Config{})
	if err != nil {
		os.Exit(1)
	}
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
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
