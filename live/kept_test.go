package live_test

import (
	"net/http"
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
	if len(rows) != 2 || rows[0].Name != "GET /chosen" || rows[0].Reason != "chosen" || rows[1].Name != "GET /broken" || rows[1].Reason != "failed" || rows[1].Status != "502" {
		t.Fatalf("kept are %+v", rows)
	}
	if n := len(got.Routes.Routes); n != 3 {
		t.Errorf("%d routes, want all three: the table counts requests that are not kept", n)
	}
	p.get("data/v1/requests/"+rows[1].Trace+"/"+rows[1].Span, http.StatusOK, nil)
}
