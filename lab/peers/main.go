// Command peers serves the judge's HTTP request (go run -C lab ./request report) with
// tracers other than OpenTelemetry's. It is a module of its own: what they require stays out of
// lab's.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/perfline/perfline/lab/internal/service"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run serves with the tracer args[0], which sends to the server at the address args[1].
func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("arguments %q: must be datadog or sentry, and an address", args)
	}
	var s service.Service
	var err error
	switch args[0] {
	case "datadog":
		s, err = datadog(args[1])
	case "sentry":
		s, err = sentryTracing(args[1])
	default:
		err = fmt.Errorf("tracer %q: must be datadog or sentry", args[0])
	}
	if err != nil {
		return err
	}
	return service.Run(ctx, s)
}

// serving is the handler of the judge's request, around its work.
func serving(work func(context.Context)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		work(r.Context())
		_, _ = io.WriteString(w, "<!doctype html><title>an order</title>")
	})
	return mux
}
