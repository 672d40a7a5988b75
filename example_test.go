package perfline_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/marks"
)

// A service, without a backend: what it did last is in memory. With
// OTEL_EXPORTER_OTLP_ENDPOINT the same is sent there.
func Example() {
	ctx := context.Background()
	pl, err := perfline.Start(ctx, perfline.Config{Service: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /products/{id}", func(_ http.ResponseWriter, r *http.Request) {
		marks.Mark(r.Context(), "cache.miss", slog.String("id", r.PathValue("id")))
		defer marks.Time(r.Context(), "render").End()
	})
	handler := bridgehttp.Middleware(mux)

	// http.ListenAndServe(":8080", handler) makes this call for each request:
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/products/7", nil))

	if err := pl.Shutdown(ctx); err != nil {
		fmt.Println(err) // what was lost, by cause
	}
	for _, row := range requests.Rows(pl.Recent().Requests()[0].Request()) {
		fmt.Printf("%s%s\n", strings.Repeat("  ", row.Depth), row.Span.Name)
		for _, event := range row.Span.Events {
			fmt.Printf("%s◆ %s %s=%s\n", strings.Repeat("  ", row.Depth), event.Name, event.Attributes[0].Key, event.Attributes[0].Value.String())
		}
	}
	// Output:
	// GET /products/{id}
	// ◆ cache.miss id=7
	//   render
}
