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
	err = http.ListenAndServe("localhost:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // only built
		_, span := otel.Tracer("hello").Start(r.Context(), "hello")
		_, _ = io.WriteString(w, "hello")
		span.End()
	}))
	if err != nil {
		os.Exit(1)
	}
}
