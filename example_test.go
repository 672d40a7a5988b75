package perfline_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
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
	for _, q := range pl.Recent().Newest() {
		fmt.Println(q.Root().Class, q.Root().Name)
	}
	// Output:
	// request GET /products/{id}
}

// A test of a program calls Check after some requests. The middleware of this program wraps a
// function that serves all paths, so that the requests have no route.
func ExampleCheck() {
	ctx := context.Background()
	pl, err := perfline.Start(ctx, perfline.Config{Service: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := bridgehttp.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for id := range 20 {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint("/products/", id), nil)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	for _, f := range perfline.Check(pl) {
		fmt.Println(f.What)
		fmt.Println(f.Change)
	}
	if err := pl.Shutdown(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// None of 20 HTTP requests in memory has a route, and their paths differ: 20 paths count as one route for each method.
	// Wrap the mux itself in bridgehttp.Middleware, or call bridgehttp.SetRoute in a middleware of the router: docs/frameworks.md.
}
