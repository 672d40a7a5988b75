package service

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// In any minute there are so many starts, and who is refused is told when to come again.
func TestRateOfStarts(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := newRate(3, func() time.Time { return now })
	for i, step := range []struct {
		after   time.Duration
		refused string
	}{
		{0, ""},
		{10 * time.Second, ""},
		{10 * time.Second, ""},
		{0, "3 in a minute are allowed: try again in 40s"},
		{39 * time.Second, "try again in 1s"},
		{time.Second, ""}, // a minute after the first
		{0, "try again in 10s"},
		{10 * time.Second, ""},
		{time.Hour, ""}, {0, ""}, {0, ""},
		{0, "try again in 1m0s"},
	} {
		now = now.Add(step.after)
		err := r.take()
		switch {
		case step.refused == "" && err != nil:
			t.Errorf("step %d: refused: %v", i, err)
		case step.refused != "" && (connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), step.refused)):
			t.Errorf("step %d: got %v, want resource_exhausted with %q", i, err, step.refused)
		}
	}
}

// The rate is that of calls which make sense, whether they could start a session or not.
func TestRateOfStartsByCalls_SP1(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	defer tl.Close()
	rec := sessions.NewRecorder(sessions.Config{Timeline: tl, Policy: profiling.Policy{Remote: true}})
	defer rec.Close()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	_, h := newHandler(rec, Config{Logger: slog.New(slog.DiscardHandler)}, func() time.Time { return now })
	start := func(mode string) string {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/perfline.profiler.v1.ProfilerService/StartProfiler",
			strings.NewReader(fmt.Sprintf(`{"startMode": %q, "noSamples": true}`, mode)))
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	const immediate, never = "START_MODE_IMMEDIATE", "START_MODE_UNSPECIFIED"
	for range 20 {
		if got := start(never); !strings.HasPrefix(got, "400 ") {
			t.Fatalf("no start mode: %s", got)
		}
	}
	if got := start(immediate); !strings.HasPrefix(got, "200 ") {
		t.Fatalf("the first start: %s", got)
	}
	for i := range 9 {
		if got := start(immediate); !strings.HasPrefix(got, "400 ") {
			t.Fatalf("start %d, while one is under way: %s, want it refused for that", i+2, got)
		}
	}
	if got := start(immediate); !strings.HasPrefix(got, fmt.Sprint(http.StatusTooManyRequests)) || !strings.Contains(got, "10 in a minute") {
		t.Errorf("start 11 in a minute: %s, want it refused for that", got)
	}
	now = now.Add(time.Minute)
	if got := start(immediate); !strings.HasPrefix(got, "400 ") {
		t.Errorf("a minute later: %s, want it refused for the session under way", got)
	}
}
