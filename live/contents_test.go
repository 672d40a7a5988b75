package live_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

type contents struct {
	ID                           uint32
	Timelines, Requests, Samples int
	Routes                       []recordedRow
	Cut                          int
	Files                        []struct{ Format, Name, Use string }
}

type recordedRow struct {
	Route             uint32
	Name              string
	Requests, Samples int
	Max               float64
}

// contents are the routes of a session by what is shown of their names.
func (p *program) contents(id uint32) map[string]recordedRow {
	p.t.Helper()
	var c contents
	p.get(fmt.Sprintf("data/v1/sessions/%d", id), http.StatusOK, &c)
	rows := map[string]recordedRow{}
	for _, r := range c.Routes {
		rows[r.Name] = r
	}
	return rows
}

// A session's routes have all of its timelines, which are more than one answer of the service
// holds. Each route has a flame graph of its own, also when their shortened names are equal.
func TestContents(t *testing.T) {
	p := start(t, allowed, live.Config{})
	id := p.startSession(`{"startMode":"START_MODE_IMMEDIATE"}`)
	long := "GET /" + strings.Repeat("long", 100)
	for range 1100 {
		p.request("GET /many", 0)
	}
	p.request(long+"one", 150*time.Millisecond)
	p.request(long+"two", 0)
	p.request("GET /odd\u202e", 0)
	marks.Mark(observer.NewContext(t.Context(), p.tl), "the process has a timeline")
	p.call("StopProfiler", `{"sessionID":1}`, nil)

	var c contents
	p.get("data/v1/sessions/1", http.StatusOK, &c)
	if c.ID != id || c.Requests != 1103 || c.Timelines < 1103 || c.Cut != 0 {
		t.Errorf("session %d has %d requests in %d timelines, %d routes cut, want session 1 with 1103", c.ID, c.Requests, c.Timelines, c.Cut)
	}
	requests, samples, longest := map[string][]int{}, 0, 0.0
	for i, r := range c.Routes {
		requests[r.Name] = append(requests[r.Name], r.Requests)
		samples += r.Samples
		if i > 0 && r.Samples > c.Routes[i-1].Samples {
			t.Errorf("%+v comes after %+v", r, c.Routes[i-1])
		}
		var f flame
		p.get(fmt.Sprintf("data/v1/profile/flame?session=1&route=%d", r.Route), http.StatusOK, &f)
		want := r.Name
		if r.Requests > 0 {
			want = "all requests " + want
		}
		if f.Samples != r.Samples || f.Title != want {
			t.Errorf("the flame graph of %+v has %d samples and title %s", r, f.Samples, f.Title)
		}
		if strings.HasPrefix(r.Name, "GET /longlong") {
			longest = max(longest, r.Max)
		}
	}
	if longest < 150 {
		t.Errorf("the longest request of a long name took %v ms, want 150 at least", longest)
	}
	shownLong := long[:200] + "…"
	if got, want := fmt.Sprint(requests[shownLong], requests["GET /many"], requests[`GET /odd\u202e`], requests["process"]), "[1 1] [1100] [1] [0]"; got != want {
		t.Errorf("requests are %s, want %s: %v", got, want, requests)
	}
	if samples != c.Samples || samples == 0 {
		t.Errorf("%d samples in all routes, %d in all", samples, c.Samples)
	}
	p.get("data/v1/sessions/7", http.StatusNotFound, nil)
	p.get("data/v1/sessions/x", http.StatusNotFound, nil)
}

// request has the program serve a request of a name, which uses the CPU for so long.
func (p *program) request(name string, d time.Duration) {
	p.t.Helper()
	method, route, _ := strings.Cut(name, " ")
	s := bridgehttp.Server{Timeline: p.tl, TracerProvider: p.pl.TracerProvider()}
	s.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		bridgehttp.SetRoute(r.Context(), route)
		began := time.Now()
		burn(d, func() bool { return time.Since(began) >= d }) // by the clock of CPU time, and by that of the request
	})).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/", http.NoBody))
}
