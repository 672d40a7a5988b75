package live_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

// The page lists the requests that a policy kept, with the reason, and their links work.
func TestKeptRequests(t *testing.T) {
	// Without Slow, a request that stands still for a second is kept, too.
	p := start(t, perfline.Config{Sampler: sdktrace.NeverSample(), Keep: bridge.KeepPolicy{Slow: -1}}, live.Config{})
	p.serve("GET /fine", "/fine", func(http.ResponseWriter, *http.Request) {})
	p.serve("GET /broken", "/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	p.serve("GET /handled", "/handled", func(w http.ResponseWriter, r *http.Request) {
		lookup := marks.Time(r.Context(), "lookup")
		lookup.Fail(errors.New("not found"))
		lookup.End()
		w.WriteHeader(http.StatusNotFound)
	})
	p.serve("GET /chosen", "/chosen", func(_ http.ResponseWriter, r *http.Request) { marks.Keep(r.Context()) })
	var got struct {
		Requests struct {
			KeptRequests []struct {
				row
				Reason string
			} `json:"kept"`
		}
		Routes routesData
	}
	p.get("data/v1/overview", http.StatusOK, &got)
	rows := got.Requests.KeptRequests
	var lines []string
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("%s: %s, status %s, failed %t", r.Name, r.Reason, r.Status, r.Failed))
	}
	want := []string{"GET /chosen: chosen, status 200, failed false", "GET /handled: error_inside, status 404, failed false", "GET /broken: failed, status 502, failed true"}
	if !slices.Equal(lines, want) {
		t.Fatalf("kept are %q, want %q", lines, want)
	}
	if n := len(got.Routes.Routes); n != 4 {
		t.Errorf("%d routes, want all four: the table counts requests that are not kept", n)
	}
	for _, r := range got.Routes.Routes {
		if (r.Failed > 0) != (r.Route == "GET /broken") {
			t.Errorf("%s has %d failed requests", r.Route, r.Failed)
		}
	}
	var found struct{ Requests []row }
	if p.get("data/v1/requests?status=error", http.StatusOK, &found); len(found.Requests) != 1 || found.Requests[0].Name != "GET /broken" {
		t.Errorf("requests with an error are %+v, want the one that failed", found.Requests)
	}
	for _, r := range rows {
		p.get("data/v1/requests/"+r.Trace+"/"+r.Span, http.StatusOK, nil)
	}
}
