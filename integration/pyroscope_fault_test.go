package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/profiling"
)

// TestPyroscopeDiesAndComesBack kills a Pyroscope under load and starts it again. No profile of that time is lost, and the
// service must not have noticed.
func TestPyroscopeDiesAndComesBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := ownPyroscope(ctx, t)
	var service string
	pl, tl, lines := start(t, jaeger, func(c *perfline.Config) {
		service = c.Service
		c.Profiles.ServerAddress, c.Profiles.UploadInterval = p.URL(), time.Second
	})
	srv := httptest.NewServer(server(pl, tl).Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		runtime.KeepAlive(work(300_000))
	})))
	defer srv.Close()
	stopLoad := sync.OnceValue(steadily(t, srv.URL))
	defer stopLoad()

	until(ctx, t, pl, "profiles are delivered", func(s profiling.ExporterStats) bool { return s.Delivered >= 10 })
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	until(ctx, t, pl, "profiles wait", func(s profiling.ExporterStats) bool { return s.Pending >= 10 && s.Retries >= 2 })
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	restarted := time.Now()
	// The waiting profiles, and some new ones. Nothing but time makes the exporter try again.
	want := pl.Stats().Profiles.Accepted + 10
	until(ctx, t, pl, "all is delivered", func(s profiling.ExporterStats) bool { return s.Delivered >= want })
	whole := backend.Query{Labels: fmt.Sprintf("{service_name=%q}", service)}
	if err := backend.Poll(ctx, func() (bool, error) {
		routes, err := p.LabelValues(ctx, whole, "span_name")
		return slices.Contains(routes, "GET"), err
	}); err != nil {
		t.Errorf("no CPU time of the route GET is in Pyroscope: %v", err)
	}

	stopLoad()
	if err := pl.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	s := pl.Stats().Profiles
	if s.Delivered != s.Accepted || s.Lost() != 0 || s.Pending != 0 || s.PendingBytes != 0 || s.Retries == 0 {
		t.Errorf("counts are %+v, want all sent", s)
	}
	for _, c := range []struct {
		name     string
		from, to time.Time
	}{{"while it was away", killed, restarted}, {"since it is back", restarted, time.Now()}} {
		// Goroutines can be counted at any time, also without a signal of the CPU profiler.
		q := whole
		q.Type, q.From, q.To = "goroutines:goroutine:count:goroutine:count", c.from, c.to
		if got := total(stored(ctx, t, p, q)); got == 0 {
			t.Errorf("no profile of %s is in Pyroscope", c.name)
		}
	}
	wantOutage(t, lines, 1, 1)
	t.Logf("away for %v, delivered since: %+v", restarted.Sub(killed).Round(time.Millisecond), s)
}

// TestPyroscopeKilledBeforeShutdown has waiting profiles when the end comes.
func TestPyroscopeKilledBeforeShutdown(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := ownPyroscope(ctx, t)
	pl, tl, lines := start(t, jaeger, func(c *perfline.Config) {
		c.Profiles.ServerAddress, c.Profiles.UploadInterval = p.URL(), time.Second
	})
	stopLoad := sync.OnceValue(steadily(t, workServer(t, pl, tl).URL))
	defer stopLoad()
	until(ctx, t, pl, "profiles are delivered", func(s profiling.ExporterStats) bool { return s.Delivered > 0 })
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, pl, "profiles wait", func(s profiling.ExporterStats) bool { return s.Pending > 0 && s.Retries > 0 })
	spans := uint64(stopLoad() * spansPerRequest)
	if err := backend.Poll(ctx, func() (bool, error) { return pl.Stats().Delivery.Delivered >= spans, nil }); err != nil {
		t.Fatalf("%d spans are not delivered: %v: %+v", spans, err, pl.Stats().Delivery)
	}

	const deadline = time.Second
	end, cancelEnd := context.WithTimeout(ctx, deadline)
	defer cancelEnd()
	began := time.Now()
	err := pl.Shutdown(end)
	took := time.Since(began)
	s := pl.Stats().Profiles
	var lost *perfline.LostError
	if !errors.As(err, &lost) || lost.Profiles == 0 || lost.Profiles != s.Lost() || lost.Spans != 0 {
		t.Errorf("Shutdown returned %v, want the loss of %d profiles and of nothing else", err, s.Lost())
	}
	// Pyroscope may have been killed with a request, which it did not answer then.
	if s.Accepted != s.Delivered+s.Pending+s.Unanswered || s.Pending == 0 || s.Unanswered > 1 {
		t.Errorf("counts are %+v, want all profiles sent or waiting", s)
	}
	wantOutage(t, lines, 1, 0)
	t.Logf("Shutdown with a deadline of %v took %v: %v", deadline, took.Round(time.Millisecond), err)
}

// until waits until the pipeline's counts of profiles are so.
func until(ctx context.Context, t *testing.T, pl *perfline.Pipeline, what string, f func(profiling.ExporterStats) bool) {
	t.Helper()
	if err := backend.Poll(ctx, func() (bool, error) { return f(pl.Stats().Profiles), nil }); err != nil {
		t.Fatalf("waiting until %s: %v; counts are %+v", what, err, pl.Stats().Profiles)
	}
}

// wantOutage wants so many lines about an outage and about its end, and none about other things than
// profiles without samples: a machine that gives the program no CPU time gives it no signals.
func wantOutage(t *testing.T, lines *logLines, began, ended int) {
	t.Helper()
	var down, up int
	for _, line := range lines.all() {
		switch {
		case strings.Contains(line, "profiles are not delivered"):
			down++
		case strings.Contains(line, "profiles are delivered again"):
			up++
		case strings.Contains(line, "taking a cpu profile failed"):
		default:
			t.Errorf("unexpected log line: %s", line)
		}
	}
	if down != began || up != ended {
		t.Errorf("%d lines about the outage and %d about its end, want %d and %d:\n%s", down, up, began, ended, strings.Join(lines.all(), ""))
	}
}
