package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

const spansPerRequest = 3 // the server span and two measures

// TestBackendDiesAndComesBack has a Jaeger of its own, which it kills under load
// and starts again. Whatever it then misses must be what the pipeline counted
// as lost, and the service must not have noticed.
func TestBackendDiesAndComesBack(t *testing.T) { overBoth(t, testBackendDiesAndComesBack) }

func testBackendDiesAndComesBack(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	j := ownJaeger(ctx, t)
	service := ""
	pl, tl, lines := start(t, j, func(c *perfline.Config) {
		service = c.Service
		c.Traces.QueueSize = 500 // so that an outage fills it
	})
	srv := workServer(t, pl, tl)

	found := func() int {
		traces, err := j.Traces(ctx, service)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, spans := range traces {
			n += len(spans)
		}
		return n
	}

	const perPhase = 500
	healthy := drive(t, srv.URL, perPhase)
	if err := pl.Flush(ctx); err != nil {
		t.Fatalf("flushing to a healthy backend: %v", err)
	}
	stored := found()
	if lost := pl.Stats().Delivery.Lost(); stored+int(lost) != perPhase*spansPerRequest {
		t.Errorf("before the crash: %d spans in Jaeger and %d lost, of %d", stored, lost, perPhase*spansPerRequest)
	}

	if err := j.Kill(); err != nil {
		t.Fatal(err)
	}
	down := drive(t, srv.URL, perPhase)
	if err := backend.Poll(ctx, func() (bool, error) {
		d := pl.Stats().Delivery
		return d.Dropped > 0 && d.Retries > 0, nil
	}); err != nil {
		t.Fatalf("the outage fills no queue: %v", err)
	}
	if err := j.Start(ctx); err != nil {
		t.Fatal(err)
	}
	// One span after the other until one arrives: the connection is back.
	extra := 0
	if err := backend.Poll(ctx, func() (bool, error) {
		drive(t, srv.URL, 1)
		extra++
		return pl.Flush(ctx) == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	back := drive(t, srv.URL, perPhase)

	shutdownErr := pl.Shutdown(ctx)
	stats := pl.Stats()
	total := (3*perPhase + extra) * spansPerRequest
	missing := total - stored - found()
	var lost *perfline.LostError
	if !errors.As(shutdownErr, &lost) {
		t.Fatalf("Shutdown returned %v, want a *LostError", shutdownErr)
	}
	if unanswered := int(stats.Delivery.Unanswered); missing == 0 || missing > int(lost.Spans) || missing < int(lost.Spans)-unanswered {
		t.Errorf("Shutdown says %d spans were lost, %d of them without an answer; Jaeger misses %d", lost.Spans, unanswered, missing)
	}
	if s := stats.Delivery; s.Accepted != s.Delivered+s.Failed+s.Dropped+s.Pending || int(s.Accepted) != total || s.Pending != 0 {
		t.Errorf("the books do not add up: %+v, %d spans made", s, total)
	}
	var down1, up1 int
	for _, line := range lines.all() {
		switch {
		case strings.Contains(line, "spans are not delivered"):
			down1++
		case strings.Contains(line, "spans are delivered again"):
			up1++
		case strings.Contains(line, "spans are dropped because the queue is full"): // as fast as they come, now and then
		default:
			t.Errorf("unexpected log line: %s", line)
		}
	}
	if down1 != 1 || up1 != 1 {
		t.Errorf("%d lines about the outage and %d about its end, want one each:\n%s", down1, up1, strings.Join(lines.all(), ""))
	}
	t.Logf("p99 of requests: healthy %v, backend killed %v, back again %v", p99(healthy), p99(down), p99(back))
	t.Logf("%d spans made, %d lost, %d missing in Jaeger: %v", total, lost.Spans, missing, shutdownErr)
}

// TestBackendAbsent runs against a port that refuses connections, and against one that
// accepts them and never answers.
func TestBackendAbsent(t *testing.T) { overBoth(t, testBackendAbsent) }

func testBackendAbsent(t *testing.T) {
	t.Helper()
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see the client go
		<-r.Context().Done()
	}))
	defer hanging.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, c := range []struct{ name, endpoint string }{{"nobody listens", gone.URL}, {"never answers", hanging.URL}} {
		t.Run(c.name, func(t *testing.T) {
			pl, tl, lines := start(t, jaeger, func(cfg *perfline.Config) {
				cfg.Traces.Endpoint = c.endpoint
				cfg.Traces.Protocol = "http/protobuf"
			})
			srv := workServer(t, pl, tl)
			times := drive(t, srv.URL, 500)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			began := time.Now()
			err := pl.Shutdown(ctx)
			var lost *perfline.LostError
			if !errors.As(err, &lost) || lost.Spans != 500*spansPerRequest {
				t.Errorf("Shutdown returned %v, want all %d spans lost", err, 500*spansPerRequest)
			}
			if d := pl.Stats().Delivery; d.Accepted != 500*spansPerRequest || d.Pending+d.Unanswered != d.Accepted {
				t.Errorf("after Shutdown, the books are %+v: want all given up", d)
			}
			if again := pl.Shutdown(t.Context()); !errors.As(again, &lost) || lost.Spans != 500*spansPerRequest {
				t.Errorf("the second Shutdown returned %v, want what the first one did", again)
			}
			if n := len(lines.all()); n > 1 {
				t.Errorf("%d log lines, want one: %v", n, lines.all())
			}
			t.Logf("p99 of requests %v; Shutdown with a deadline of 200 ms took %v: %v", p99(times), time.Since(began).Round(time.Millisecond), err)
		})
	}
}

func workServer(t *testing.T, pl *perfline.Pipeline, tl *observer.Timeline) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /task", func(_ http.ResponseWriter, r *http.Request) {
		defer marks.Time(r.Context(), "first").End()
		marks.Mark(r.Context(), "mark")
		marks.Time(r.Context(), "second").End()
	})
	srv := httptest.NewServer(server(pl, tl).Middleware(mux))
	t.Cleanup(srv.Close)
	return srv
}

// drive sends n requests, several at a time, and returns their times.
func drive(t *testing.T, url string, n int) []time.Duration {
	t.Helper()
	const workers = 8
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	defer client.CloseIdleConnections()
	times := make(chan time.Duration, n)
	errs := make(chan error, workers)
	next := make(chan struct{}, n)
	for range n {
		next <- struct{}{}
	}
	close(next)
	for range workers {
		go func() {
			for range next {
				began := time.Now()
				resp, err := client.Get(url + "/task")
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err != nil {
					errs <- fmt.Errorf("the service noticed: %w", err)
					return
				}
				times <- time.Since(began)
			}
			errs <- nil
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	close(times)
	var all []time.Duration
	for d := range times {
		all = append(all, d)
	}
	return all
}

func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return load.Quantile(times, 0.99).Round(10 * time.Microsecond)
}
