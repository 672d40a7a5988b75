// Command page is hello with all that the README's program has: perfline.Start, the middleware,
// marks, the live page, and the end after a signal.
package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	pl, err := perfline.Start(ctx, perfline.Config{})
	if err != nil {
		os.Exit(1)
	}
	srv := &http.Server{Addr: "localhost:8080", Handler: live.Handler(pl, //nolint:gosec // only built
		live.Config{Next: bridgehttp.Middleware(
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer marks.Time(r.Context(), "render").End()
				_, _ = io.WriteString(w, "hello")
			}))})}
	go func() {
		_ = srv.ListenAndServe()
		stop()
	}()
	<-ctx.Done()
	end := context.Background()
	if err := errors.Join(srv.Shutdown(end), pl.Shutdown(end)); err != nil {
		os.Exit(1)
	}
}
