// Command till is a service with a bug: an order without a customer ends the process. Its argument
// is the directory of the black box. Command transcript has the service crash, and asks the next
// process.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/mcpserver"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "till:", err)
		os.Exit(1)
	}
}

// run prints the address, and serves until the input ends.
func run(ctx context.Context, dir string) error {
	pl, err := perfline.Start(ctx, perfline.Config{Service: "till", BlackBox: dir})
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders/{id}/invoice", invoice)
	mux.HandleFunc("GET /reports/{month}", report)
	root := http.NewServeMux()
	root.Handle(live.Prefix+"mcp", mcpserver.Handler(pl, mcpserver.Config{}))
	root.Handle("/", bridgehttp.Middleware(mux))
	server := &http.Server{Handler: root}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	fmt.Println(l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, server.Close(), pl.Shutdown(ctx))
}

// report sends the rows of a month, and computes for as long as the client waits.
func report(w http.ResponseWriter, r *http.Request) {
	ctx, sum := marks.Start(r.Context(), "sum")
	defer sum.End()
	marks.Mark(ctx, "rows.read", slog.String("month", r.PathValue("month")), slog.Int("rows", 210))
	fmt.Fprintln(w, "day,orders,total")
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	<-ctx.Done()
}

// An order has no customer if the customer's account was deleted.
type order struct {
	id       string
	customer *customer
}

type customer struct{ address string }

func invoice(w http.ResponseWriter, r *http.Request) {
	o := load(r.Context(), r.PathValue("id"))
	ctx, render := marks.Start(r.Context(), "render")
	defer render.End()
	marks.Mark(ctx, "template.ready", slog.String("template", "invoice"))
	page := make(chan string)
	go func() { page <- o.render() }()
	fmt.Fprintln(w, <-page)
}

func load(ctx context.Context, id string) *order {
	_, query := marks.Start(ctx, "load", slog.String("order", id))
	defer query.End()
	return &order{id: id}
}

func (o *order) render() string {
	return fmt.Sprintf("order %s, for %s", o.id, o.customer.address)
}
