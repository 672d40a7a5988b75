// Command start is hello with perfline.Start.
package main

import (
	"context"
	"io"
	"net/http"
	"os"

	"go.opentelemetry.io/otel"

	"github.com/perfline/perfline"
)

func main() {
	if _, err := perfline.Start(context.Background(), perfline.Config{}); err != nil {
		os.Exit(1)
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, span := otel.Tracer("hello").Start(r.Context(), "hello")
		_, _ = io.WriteString(w, "hello")
		span.End()
	}
	err := http.ListenAndServe("localhost:8080", http.HandlerFunc(handler)) //nolint:gosec // only built
	if err != nil {
		os.Exit(1)
	}
}
