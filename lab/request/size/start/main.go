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
	err := http.ListenAndServe("localhost:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // only built
		_, span := otel.Tracer("hello").Start(r.Context(), "hello")
		_, _ = io.WriteString(w, "hello")
		span.End()
	}))
	if err != nil {
		os.Exit(1)
	}
}
