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
	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/internal/cputime"
	push "github.com/perfline/perfline/profiling/pyroscope"
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
		runtime.KeepAlive(work(2_000_000))
	})))
	defer srv.Close()
	l, stopLoad := steady(t, srv.URL)
	defer stopLoad()

	until(ctx, t, pl, "profiles are delivered", func(s push.Stats) bool { return s.Delivered >= 10 })
	healthy := l.Take()
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	idle := cputime.Process() // requests that use so much CPU time have samples
	until(ctx, t, pl, "profiles wait", func(s push.Stats) bool {
		return s.Pending >= 10 && s.Retries >= 2 && cputime.Process()-idle > 500*time.Millisecond
	})
	down := l.Take()
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	restarted := time.Now()
	// The waiting profiles, and some new ones. Nothing but time makes the pusher try again.
	want := pl.Stats().Profiles.Accepted + 10
	until(ctx, t, pl, "all is delivered", func(s push.Stats) bool { return s.Delivered >= want })
	back := l.Take()

	stopLoad()
	if err := pl.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	s := pl.Stats().Profiles
	if s.Delivered != s.Accepted || s.Lost() != 0 || s.Pending != 0 || s.PendingBytes != 0 || s.Failed != 0 || s.Retries == 0 {
		t.Errorf("counts are %+v, want all sent", s)
	}
	for _, c := range []struct {
		name     string
		from, to time.Time
	}{{"while it was away", killed, restarted}, {"since it is back", restarted, time.Now()}} {
		q := backend.Query{Labels: fmt.Sprintf("{service_name=%q}", service), From: c.from, To: c.to}
		if got := total(stored(ctx, t, p, q)); got == 0 {
			t.Errorf("no CPU time of %s is in Pyroscope", c.name)
		}
		if routes, err := p.LabelValues(ctx, q, "span_name"); err != nil || !slices.Contains(routes, "GET") {
			t.Errorf("routes of %s: %q, %v; want GET", c.name, routes, err)
		}
	}
	var down1, up1 int
	for _, line := range lines.all() {
		switch {
		case strings.Contains(line, "profiles are not delivered"):
			down1++
		case strings.Contains(line, "profiles are delivered again"):
			up1++
		default:
			t.Errorf("unexpected log line: %s", line)
		}
	}
	if down1 != 1 || up1 != 1 {
		t.Errorf("%d lines about the outage and %d about its end, want one each:\n%s", down1, up1, strings.Join(lines.all(), ""))
	}
	t.Logf("p99 of requests: healthy %v of %d, Pyroscope killed %v of %d, back again %v of %d",
		healthy.P(0.99), healthy.Answered, down.P(0.99), down.Answered, back.P(0.99), back.Answered)
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
	_, stopLoad := steady(t, workServer(t, pl, tl).URL)
	defer stopLoad()
	until(ctx, t, pl, "profiles are delivered", func(s push.Stats) bool { return s.Delivered > 0 })
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, pl, "profiles wait", func(s push.Stats) bool { return s.Pending > 0 && s.Retries > 0 })
	stopLoad()

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
	if said := strings.Join(lines.all(), ""); len(lines.all()) != 1 || !strings.Contains(said, "profiles are not delivered") {
		t.Errorf("log lines are %q, want one about the outage", said)
	}
	t.Logf("Shutdown with a deadline of %v took %v: %v", deadline, took.Round(time.Millisecond), err)
}

// until waits until the pipeline's counts of profiles are so.
func until(ctx context.Context, t *testing.T, pl *perfline.Pipeline, what string, f func(push.Stats) bool) {
	t.Helper()
	if err := backend.Poll(ctx, func() (bool, error) { return f(pl.Stats().Profiles), nil }); err != nil {
		t.Fatalf("waiting until %s: %v; counts are %+v", what, err, pl.Stats().Profiles)
	}
}

// steady sends a service 25 requests a second until the function that it returns is called, or
// the test ends. None of them may fail.
func steady(t *testing.T, url string) (l *load.Load, stop func()) {
	t.Helper()
	l = load.Requests(t.Context(), url+"/task", 25)
	stop = sync.OnceFunc(func() {
		l.Stop()
		if err := l.Total().Err(); err != nil {
			t.Errorf("the service noticed: %v", err)
		}
	})
	return l, stop
}
