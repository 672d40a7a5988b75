package load_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/load"
)

func TestQuantile(t *testing.T) {
	var hundred []int
	for i := range 100 {
		hundred = append(hundred, i+1)
	}
	for _, c := range []struct {
		name string
		of   []int
		q    float64
		want int
	}{
		{"none", nil, 0.5, 0},
		{"one", []int{7}, 0.99, 7},
		{"the least", hundred, 0, 1},
		{"median", hundred, 0.5, 50},
		{"no whole rank", hundred, 0.985, 99},
		{"a share that is no binary fraction", hundred, 0.07, 7},
		{"p99", hundred, 0.99, 99},
		{"maximum", hundred, 1, 100},
	} {
		if got := load.Quantile(c.of, c.q); got != c.want {
			t.Errorf("%s: Quantile(%v) = %v, want %v", c.name, c.q, got, c.want)
		}
	}
}

// Calls are made when they are due, whatever those before take.
func TestCallsAreDueBeforehand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		calls := make(chan time.Duration, 10)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		r := load.Start(ctx, load.Config{PerSecond: 200, Do: func() error {
			calls <- time.Since(began)
			time.Sleep(time.Minute)
			return nil
		}}).Wait()
		close(calls)
		var at []time.Duration
		for call := range calls {
			at = append(at, call)
		}
		want := []time.Duration{0, 5 * time.Millisecond, 10 * time.Millisecond, 15 * time.Millisecond}
		if !slices.Equal(at, want) || r.Answered != 4 || r.Failed != 0 || r.Unsent != 0 || r.P(0) != time.Minute || r.P(1) != time.Minute {
			t.Errorf("calls were made after %v, want %v; results %+v", at, want, r)
		}
	})
}

// A call that waits for others has the wait in its latency. Calls that wait until the end are
// counted.
func TestCallsWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		l := load.Start(t.Context(), load.Config{PerSecond: 100, UnderWay: 2, Do: func() error { <-over; return nil }})
		time.Sleep(995 * time.Millisecond) // 100 are due
		if r := l.Take(); r.Answered != 0 || r.Failed != 0 {
			t.Errorf("%d calls have returned and %d failed, want none", r.Answered, r.Failed)
		}
		close(over)
		synctest.Wait()
		r := l.Take()
		if r.Answered != 100 || r.P(1) != 995*time.Millisecond || r.P(0.5) != 495*time.Millisecond || r.P(0) != 5*time.Millisecond {
			t.Errorf("%d calls, of latencies %v, want 100 from 5ms to 995ms", r.Answered, r.Latencies)
		}
		l.Stop()

		forever := make(chan struct{})
		l = load.Start(t.Context(), load.Config{PerSecond: 100, UnderWay: 2, Do: func() error { <-forever; return nil }})
		time.Sleep(95 * time.Millisecond) // ten are due
		time.AfterFunc(time.Second, func() { close(forever) })
		if r := l.Stop(); r.Answered != 2 || r.Unsent != 8 || l.Total().Unsent != 8 {
			t.Errorf("%d calls were made and %d not, want 2 and 8", r.Answered, r.Unsent)
		}
	})
}

func TestErrorsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l := load.Start(ctx, load.Config{PerSecond: 10, UnderWay: 1, Do: func() error {
			if n++; n%2 == 0 {
				return errors.New("even")
			}
			return nil
		}})
		time.Sleep(450 * time.Millisecond)
		if r := l.Take(); r.Answered != 3 || r.Failed != 2 || len(r.Latencies) != 3 {
			t.Errorf("%+v, want five results", r)
		}
		if r := l.Wait(); r.Answered != 2 || r.Failed != 3 {
			t.Errorf("%+v, want the other five results", r)
		}
		// The total has the results that were taken before.
		if r := l.Total(); r.Answered != 5 || r.Failed != 5 || r.Latencies != nil || r.Err() == nil || r.Err().Error() != "5 requests failed: even" {
			t.Errorf("in total %+v: %v", r, r.Err())
		}
	})
}

func TestRequestsFail(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	defer failing.Close()
	for _, c := range []struct{ name, url, want string }{
		{"nobody listens", gone.URL, "refused"},
		{"another status", failing.URL, "503"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := load.Requests(t.Context(), c.url, 1000)
			if err := backend.Poll(t.Context(), func() (bool, error) { return l.Total().Failed > 5, nil }); err != nil {
				t.Fatal(err)
			}
			l.Stop()
			r := l.Total()
			// With addresses the same errors would differ.
			if len(r.Errors) != 1 || r.Answered != 0 || r.Err() == nil || strings.Contains(r.Err().Error(), "127.0.0.1") ||
				!strings.Contains(r.Err().Error(), c.want) || !strings.HasPrefix(r.Err().Error(), fmt.Sprintf("%d requests failed: ", r.Failed)) {
				t.Errorf("%+v, want one error, with %q and without addresses", r, c.want)
			}
		})
	}
}

func TestRequestsAreAnswered(t *testing.T) {
	var served atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	defer srv.Close()
	l := load.Requests(t.Context(), srv.URL, 1000)
	if err := backend.Poll(t.Context(), func() (bool, error) { return served.Load() > 5, nil }); err != nil {
		t.Fatal(err)
	}
	l.Stop()
	if r := l.Total(); int64(r.Answered) != served.Load() || r.Failed != 0 {
		t.Errorf("%d requests are answered and %d failed, the server answered %d", r.Answered, r.Failed, served.Load())
	}
}
