// Command middleware is hello with perfline.Start and the middleware.
package main

import (
	"context"
	"io"
	"net/http"
	"os"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
)

func main() {
	if _, err := perfline.Start(context.Background(), perfline.Config{}); err != nil {
		os.Exit(1)
	}
	handler := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}
	err := http.ListenAndServe("localhost:8080", bridgehttp.Middleware(http.HandlerFunc(handler))) //nolint:gosec // only built
	if err != nil {
		os.Exit(1)
	}
}
