package main

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/perfline/perfline/marks"
)

// paymentHandler is the payment service of another company. It takes a few milliseconds
// and sometimes longer.
func paymentHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /payments", func(w http.ResponseWriter, r *http.Request) {
		t := marks.Time(r.Context(), "bank")
		wait := time.Duration(1+rand.IntN(4)) * time.Millisecond
		if rand.IntN(50) == 0 {
			wait += 20 * time.Millisecond
			slog.WarnContext(r.Context(), "bank.slow", "wait", wait)
		}
		time.Sleep(wait)
		t.End()
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "pay-%08x", rand.Uint32())
	})
	return mux
}
