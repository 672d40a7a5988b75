package live_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/live"
)

// The page is beside what bridgehttp.Middleware wraps, so that its own requests are not among those it shows.
func ExampleHandler() {
	ctx := context.Background()
	pl, err := perfline.Start(ctx, perfline.Config{Service: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pl.Shutdown(ctx) }()

	shop := http.NewServeMux()
	root := live.Handler(pl, live.Config{Next: bridgehttp.Middleware(shop)})
	server := httptest.NewServer(root) // http.ListenAndServe in a service
	defer server.Close()

	page, err := server.Client().Get(server.URL + live.Prefix) // a browser on the same machine
	if err != nil {
		fmt.Println(err)
		return
	}
	defer page.Body.Close()
	fmt.Println(page.Status, page.Header.Get("Content-Type"))
	fmt.Println("requests on the page:", len(stored(pl).Requests()))
	// Output:
	// 200 OK text/html; charset=utf-8
	// requests on the page: 0
}
