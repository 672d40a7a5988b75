package trial

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

func TestResultsP(t *testing.T) {
	hundred := Results{}
	for i := range 100 {
		hundred.Latencies = append(hundred.Latencies, time.Duration(i+1))
	}
	for _, c := range []struct {
		name string
		of   Results
		q    float64
		want time.Duration
	}{
		{"none", Results{}, 0.5, 0},
		{"one", Results{Latencies: []time.Duration{7}}, 0.99, 7},
		{"the least", hundred, 0, 1},
		{"median", hundred, 0.5, 50},
		{"no whole rank", hundred, 0.985, 99},
		{"a share that is no binary fraction", hundred, 0.07, 7},
		{"p99", hundred, 0.99, 99},
		{"maximum", hundred, 1, 100},
	} {
		if got := c.of.P(c.q); got != c.want {
			t.Errorf("%s: P(%v) = %v, want %v", c.name, c.q, got, c.want)
		}
	}
}

func TestLoadIsDueBeforehand(t *testing.T) {
	began := time.Now()
	for i, want := range []time.Duration{0, 5 * time.Millisecond, 10 * time.Millisecond} {
		if got := dueAt(began, 5*time.Millisecond, i).Sub(began); got != want {
			t.Errorf("request %d is due after %v, want %v", i, got, want)
		}
	}
}

// TestLoadCountsFromWhenDue has a service that answers nothing for a while: the
// requests of that time go on being due, and have the time in their latency.
func TestLoadCountsFromWhenDue(t *testing.T) {
	let := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-let }))
	defer srv.Close()
	const rate, underWay, waiting = 200, 20, 100
	l := startLoad(srv.URL, rate, underWay)
	if err := backend.Poll(t.Context(), func() (bool, error) { return time.Now().After(dueAt(l.began, l.interval, waiting)), nil }); err != nil {
		t.Fatal(err)
	}
	if r := l.Take(); r.Answered != 0 || r.Failed != 0 {
		t.Errorf("%d requests were answered and %d failed, want none", r.Answered, r.Failed)
	}
	close(let)
	// All that were due, also those that could not be sent then.
	if err := backend.Poll(t.Context(), func() (bool, error) { return l.Total().Answered >= waiting, nil }); err != nil {
		t.Fatal(err)
	}
	r := l.Stop()
	if r.Failed != 0 || r.Answered < waiting {
		t.Errorf("%d requests were answered and %d failed, want all of %d and more answered", r.Answered, r.Failed, waiting)
	}
	// The first waited for half a second, that is for those that were due until the service went on;
	// in a closed loop only the first of each connection would have.
	if slow := waiting * time.Second / rate / 2; r.P(0.5) == 0 || r.P(1) < slow || r.P(0.5) > r.P(0.99) {
		t.Errorf("p50 %v, p99 %v, max %v: want the slowest to have waited for over %v", r.P(0.5), r.P(0.99), r.P(1), slow)
	}
	late := 0
	for _, d := range r.Latencies {
		if d > waiting*time.Second/rate/4 {
			late++
		}
	}
	if late < waiting/2 {
		t.Errorf("%d requests were late, want at least the %d that were due in the first half", late, waiting/2)
	}
}

func TestLoadTellsErrors(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	defer failing.Close()
	for _, c := range []struct{ name, url, want string }{
		{"nobody listens", gone.URL, "refused"},
		{"another status", failing.URL, "503"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := StartLoad(c.url, 1000)
			var failed atomic.Int64
			if err := backend.Poll(t.Context(), func() (bool, error) {
				r := l.Take()
				failed.Add(int64(r.Failed))
				for text := range r.Errors {
					if !strings.Contains(text, c.want) || strings.Contains(text, "127.0.0.1") {
						t.Errorf("error %q, want one with %q and without addresses, which would tell the same errors apart", text, c.want)
					}
				}
				return failed.Load() > 5, nil
			}); err != nil {
				t.Fatal(err)
			}
			l.Stop()
			// What was taken before is in the total.
			r := l.Total()
			if int64(r.Failed) < failed.Load() || r.Answered != 0 || len(r.Latencies) != 0 {
				t.Errorf("in total %d requests failed, %d were answered; want at least %d failed and none answered", r.Failed, r.Answered, failed.Load())
			}
			if want := fmt.Sprintf("%d requests failed: ", r.Failed); r.Err() == nil || !strings.Contains(r.Err().Error(), want) || !strings.Contains(r.Err().Error(), c.want) {
				t.Errorf("error %v, want %q and %q in it", r.Err(), want, c.want)
			}
		})
	}
}
