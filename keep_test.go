package perfline_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/waits/flight"
)

// By default, a request that fails stays in memory whole although the sampler dropped it, and the counts say why.
func TestKeep(t *testing.T) {
	for _, off := range []bool{false, true} {
		pl, _, _ := start(t, perfline.Config{Sampler: sdktrace.NeverSample(), Keep: bridge.KeepPolicy{Off: off, Slow: -1}}) // or a request that stands still for a second is kept
		mux := http.NewServeMux()
		mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) {
			marks.Mark(r.Context(), "looked")
			defer marks.Time(r.Context(), "render").End()
			if r.PathValue("id") == "0" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		h := bridgehttp.Server{TracerProvider: pl.TracerProvider(), Propagators: propagation.TraceContext{}}.Middleware(mux)
		for _, path := range []string{"/items/1", "/items/0", "/items/2"} {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		}
		all := stored(pl).KeptRequests()
		var counts []string
		for _, c := range pl.Counts() {
			if c.Group == "perfline.requests" && c.N > 0 {
				counts = append(counts, c.Name)
			}
		}
		got := strings.Join(counts, " ")
		if off {
			if len(all) > 0 || got != "" {
				t.Errorf("off: %d requests are kept, and the counts have %q", len(all), got)
			}
		} else {
			if len(all) != 1 || got != "failed other" {
				t.Fatalf("%d requests are kept, and the counts have %q; want 1, failed and other", len(all), got)
			}
			q := all[0].Request()
			if len(q.Spans) != 2 || q.Root.Name != "GET /items/{id}" || len(q.Root.Events) != 1 || q.Spans[1].Name != "render" {
				t.Errorf("kept is %+v with %d spans", q.Root, len(q.Spans))
			}
			status := ""
			for _, kv := range q.Root.Attributes {
				if kv.Key == "http.response.status_code" {
					status = kv.Value.String()
				}
			}
			if status != "503" {
				t.Errorf("the request's status is %q, want 503", status)
			}
		}
		if err := pl.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// A pipeline with a waits recorder compares requests with what is usual for their route, as long as the program does not say
// what is slow.
func TestKeepFactorWithWaits(t *testing.T) {
	for _, c := range []struct {
		name  string
		waits bool
		keep  bridge.KeepPolicy
		want  string
	}{
		{"with waits", true, bridge.KeepPolicy{}, "slow from 1.0 s (3 × the usual after 128 requests)"},
		{"without", false, bridge.KeepPolicy{}, "slow from 1.0 s"},
		{"with waits and a threshold", true, bridge.KeepPolicy{Slow: time.Second}, "slow from 1.0 s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := perfline.Config{Keep: c.keep}
			if c.waits {
				config.Waits = flight.NewRecorder(flight.Config{})
			}
			pl, _, _ := start(t, config)
			if from, _ := stored(pl).Routes().SlowFrom(local.Request, "GET /"); from.String() != c.want {
				t.Errorf("a request is %q, want %q", from.String(), c.want)
			}
			if err := pl.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
