// Command page is hello with all that the README's program has: perfline.Start, the middleware,
// marks and the live page.
package main

import (
	"context"
	"io"
	"net/http"
	"os"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

func main() {
	pl, err := perfline.Start(context.Background(), perfline.Config{})
	if err != nil {
		os.Exit(1)
	}
	root := live.Handler(pl,
		live.Config{Next: bridgehttp.Middleware(
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer marks.Time(r.Context(), "render").End()
				_, _ = io.WriteString(w, "hello")
			}))})
	if err := http.ListenAndServe("localhost:8080", root); err != nil { //nolint:gosec // only built
		os.Exit(1)
	}
}
