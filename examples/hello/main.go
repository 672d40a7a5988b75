// Command hello is the smallest program with perfline, as the README shows it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	pl, err := perfline.Start(ctx, perfline.Config{Service: "hello"})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		defer marks.Time(r.Context(), "render").End()
		fmt.Fprintf(w, "Hello, %s!\n", r.PathValue("name"))
	})
	l, err := net.Listen("tcp", "localhost:8080")
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("the page: http://%s%s", l.Addr(), live.Prefix)
	srv := &http.Server{Handler: live.Handler(pl, live.Config{Next: bridgehttp.Middleware(mux)})}
	go func() {
		log.Print(srv.Serve(l))
		stop()
	}()

	<-ctx.Done() // an interrupt, SIGTERM, or the end of Serve
	requests, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = errors.Join(srv.Shutdown(requests), pl.Shutdown(context.Background()))
	if err != nil {
		log.Print(err) // also a *perfline.LostError: what did not arrive
	}
}
