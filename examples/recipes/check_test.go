package recipes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
)

func items(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "socks") }

// The test of docs/page.md finds no fault in a set-up that is right, and the missing routes of a program without patterns. Neither the
// requests nor Check need a wait, also through a test server that is closed before.
func TestSetUps(t *testing.T) {
	provider, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	defer func() {
		otel.SetTracerProvider(provider)
		otel.SetTextMapPropagator(propagator)
	}()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", items)
	for _, c := range []struct {
		name   string
		router http.Handler
		faults int
	}{{"a mux", mux, 0}, {"no patterns", http.HandlerFunc(items), 1}} {
		for _, server := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, a server %v", c.name, server), func(t *testing.T) {
				pl, err := perfline.Start(t.Context(), perfline.Config{Service: "shop"})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = pl.Shutdown(t.Context()) }()
				h := bridgehttp.Middleware(c.router)
				srv := httptest.NewServer(h)
				for id := range 20 {
					if server {
						answer, err := srv.Client().Get(fmt.Sprint(srv.URL, "/items/", id))
						if err != nil {
							t.Fatal(err)
						}
						_ = answer.Body.Close()
						continue
					}
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", fmt.Sprint("/items/", id), nil))
				}
				srv.Close()
				if got := perfline.Check(pl); len(got) != c.faults {
					t.Errorf("got %+v, want %d", got, c.faults)
				}
			})
		}
	}
}
