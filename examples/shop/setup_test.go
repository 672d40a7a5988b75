package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/live"
)

// The set-up of the shop has no fault, also while its page is open.
func TestSetUp(t *testing.T) {
	o := options{rps: 1}
	pl, err := startTelemetry(t.Context(), newRecorder(o))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stopTelemetry(context.Background(), pl) }() // the test ignores losses
	store, err := openStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	payments, err := servePayments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer payments.Close()
	shipping, stopShipping, err := startShipping(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stopShipping()
	shop := mount(pl, o, store, newHandler(store, "http://"+payments.Addr, shipping))
	ask := func(method, path, body string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost:8080"
		w := httptest.NewRecorder()
		shop.ServeHTTP(w, r)
		if w.Code >= http.StatusBadRequest {
			t.Fatalf("%s %s: status %d: %s", method, path, w.Code, w.Body)
		}
	}
	for i := range 25 {
		ask(http.MethodGet, "/", "")
		ask(http.MethodGet, fmt.Sprintf("/products/%d", i+1), "")
		ask(http.MethodPost, "/orders", fmt.Sprintf(`{"product":%d,"quantity":1}`, i+1))
		ask(http.MethodGet, live.Prefix+"data/v1/overview", "")
	}
	for _, f := range perfline.Check(pl) {
		t.Errorf("%s %s", f.What, f.Change)
	}
}
