package trial

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

// startService starts a service that the test ends, or else its cleanup.
func startService(t *testing.T, c ServiceConfig) *Service {
	t.Helper()
	c.Log = t.Output()
	s, err := StartService(t.Context(), c)
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

func terminate(t *testing.T, s *Service) Final {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	f, err := s.Terminate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestServiceAccount has nobody to deliver to: what was recorded is all in the
// counts of what was lost.
func TestServiceAccount(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	s := startService(t, ServiceConfig{
		Env:      []string{"OTEL_SERVICE_NAME=trial", "OTEL_EXPORTER_OTLP_ENDPOINT=" + gone.URL},
		Deadline: time.Second,
	})
	before, err := s.Account(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const requests = 20
	l := StartLoad(s.URL(), 100)
	var results Results
	if err := backend.Poll(t.Context(), func() (bool, error) {
		r := l.Take()
		results.Answered, results.Failed = results.Answered+r.Answered, results.Failed+r.Failed
		return results.Answered >= requests, nil
	}); err != nil {
		t.Fatal(err)
	}
	rest := l.Stop()
	answered, failed := results.Answered+rest.Answered, results.Failed+rest.Failed
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
		{"CPU time grows", a.CPU > before.CPU && before.CPU > 0},
		{"memory has a peak", a.Memory > 1<<20 && a.MemoryPeak >= a.Memory},
		{"a live heap is known", a.LiveHeap > 0 && a.LiveHeap < a.Memory},
		{"goroutines have a peak", a.Goroutines > 2 && a.GoroutinesPeak >= a.Goroutines},
		{"what was allocated grows", a.Allocated > before.Allocated},
	} {
		if !c.ok {
			t.Errorf("not so: %s; before %+v, after %+v", c.name, before, a)
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
	if !strings.Contains(f.Err, "lost") || f.Shutdown < time.Second || f.Shutdown > 3*time.Second {
		t.Errorf("the end took %v and says %q, want the deadline of a second and what was lost", f.Shutdown, f.Err)
	}
}

func TestServiceTelemetry(t *testing.T) {
	for _, kind := range []Telemetry{Perfline, None} {
		t.Run(string(kind), func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "no URL") // of the caller: nothing to the service
			s := startService(t, ServiceConfig{Telemetry: kind, Deadline: time.Second})
			l := StartLoad(s.URL(), 100)
			if err := backend.Poll(t.Context(), func() (bool, error) {
				a, err := s.Account(t.Context())
				return a.Answered >= 10, err
			}); err != nil {
				t.Fatal(err)
			}
			if r := l.Stop(); r.Failed != 0 || r.Answered < 10 {
				t.Errorf("%d requests were answered and %d failed: %v", r.Answered, r.Failed, r.Errors)
			}
			f := terminate(t, s)
			if got := f.Stats.Bridge.Measures > 0; got != (kind == Perfline) {
				t.Errorf("measures at perfline's bridge: %v", f.Stats.Bridge)
			}
		})
	}
	t.Run("unknown", func(t *testing.T) {
		var log strings.Builder
		_, err := StartService(t.Context(), ServiceConfig{Telemetry: "some", Log: &log})
		if err == nil || !strings.Contains(log.String(), `telemetry "some"`) {
			t.Errorf("error %v, the service's log %q; want both to tell", err, log.String())
		}
	})
}

// TestTerminate has requests under way when the signal comes.
func TestTerminate(t *testing.T) {
	s := startService(t, ServiceConfig{Telemetry: None})
	l := StartLoad(s.URL(), 100)
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
