// Command hello is the smallest program with perfline, as the README shows it.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

func main() {
	pl, err := perfline.Start(context.Background(), perfline.Config{Service: "hello"})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		defer marks.Time(r.Context(), "render").End()
		fmt.Fprintf(w, "Hello, %s!\n", r.PathValue("name"))
	})
	root := live.Handler(pl, live.Config{Next: bridgehttp.Middleware(mux)}) // at /debug/perfline/
	log.Print(http.ListenAndServe("localhost:8080", root))
	log.Print(pl.Shutdown(context.Background()))
}
