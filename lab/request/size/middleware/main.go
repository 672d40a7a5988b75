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
	err := http.ListenAndServe("localhost:8080", bridgehttp.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { //nolint:gosec // only built
		_, _ = io.WriteString(w, "hello")
	})))
	if err != nil {
		os.Exit(1)
	}
}
