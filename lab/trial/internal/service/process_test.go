package service

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/load"
)

// startProcess starts a service that the test ends, or else its cleanup.
func startProcess(t *testing.T, c Config) *Process {
	t.Helper()
	c.Log = t.Output()
	s, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func terminate(t *testing.T, s *Process) Final {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	f, err := s.Terminate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestServiceAccount has no backend: what was recorded is all in the
// counts of what was lost.
func TestServiceAccount(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	s := startProcess(t, Config{
		Env:      []string{"OTEL_SERVICE_NAME=trial", "OTEL_EXPORTER_OTLP_ENDPOINT=" + gone.URL},
		Deadline: time.Second,
	})
	const requests = 20
	l := load.Requests(t.Context(), s.URL(), 100)
	if err := backend.Poll(t.Context(), func() (bool, error) { return l.Total().Answered >= requests, nil }); err != nil {
		t.Fatal(err)
	}
	l.Stop()
	answered, failed := l.Total().Answered, l.Total().Failed
	a, err := s.Collected(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if int(a.Answered) != answered || failed != 0 {
		t.Errorf("the service answered %d requests, the load %d, and %d failed", a.Answered, answered, failed)
	}
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"memory has a peak", a.Memory > 1<<20 && a.MemoryPeak >= a.Memory},
		{"a live heap is known", a.LiveHeap > 0 && a.LiveHeap < a.Memory},
		{"goroutines have a peak", a.Goroutines > 2 && a.GoroutinesPeak >= a.Goroutines},
	} {
		if !c.ok {
			t.Errorf("not so: %s; %+v", c.name, a)
		}
	}
	f := terminate(t, s)
	want := uint64(answered) * SpansOfRequest
	if d := f.Stats.Delivery; d.Accepted != want || d.Lost() != want || f.SpansRecorded() != want {
		t.Errorf("of %d requests %d spans were recorded, and the delivery has %+v; want %d, all of them lost", answered, f.SpansRecorded(), d, want)
	}
	if got := f.Stats.Timeline.Total().Recorded; got != uint64(answered)*(Measures+Marks) {
		t.Errorf("%d entries on the timeline of %d requests, want %d marks and %d measures of each", got, answered, Marks, Measures)
	}
	if !strings.Contains(f.Err, "lost") || !strings.Contains(f.Err, context.DeadlineExceeded.Error()) {
		t.Errorf("the end says %q, want what was lost and the deadline", f.Err)
	}
}

// TestServiceStartFails has a variable that the service cannot use, and one of the caller's, which
// is nothing to the service.
func TestServiceStartFails(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "no URL")
	startProcess(t, Config{})
	var log strings.Builder
	_, err := Start(t.Context(), Config{Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=no URL"}, Log: &log})
	if err == nil || !strings.Contains(log.String(), "no URL") {
		t.Errorf("error %v, the service's log %q; want both to name the value", err, log.String())
	}
}

// TestTerminate has requests under way when the signal comes.
func TestTerminate(t *testing.T) {
	s := startProcess(t, Config{})
	l := load.Requests(t.Context(), s.URL(), 100)
	if err := backend.Poll(t.Context(), func() (bool, error) {
		a, err := s.Account(t.Context())
		return a.Answered >= 10, err
	}); err != nil {
		t.Fatal(err)
	}
	f := terminate(t, s)
	r := l.Stop()
	if f.Begun != f.Answered || int(f.Answered) != r.Answered {
		t.Errorf("%d requests reached the service, it answered %d, and the load had %d answers", f.Begun, f.Answered, r.Answered)
	}
	if resp, err := http.Get(s.URL()); err == nil { // the service is gone
		resp.Body.Close()
		t.Errorf("the service answers %s after its end", resp.Status)
	}
}
