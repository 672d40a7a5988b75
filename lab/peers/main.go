// Command peers serves the judge's request (go run -C lab ./request) with
// tracers other than OpenTelemetry's. It is a module of its own: what they require stays out of
// lab's.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/perfline/perfline/lab/internal/orders"
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
	s.Answer = orders.Answer(orders.ID)
	return service.Run(ctx, s)
}

// serving is the handler of the judge's request, around its work.
func serving(work func(context.Context, *orders.Order)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		o := orders.Read(r.PathValue("id"))
		work(r.Context(), o)
		_, _ = w.Write(o.Encode())
	})
	return mux
}
