package service

import (
	"encoding/json"
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
		_, err := r.take()
		switch {
		case step.refused == "" && err != nil:
			t.Errorf("step %d: refused: %v", i, err)
		case step.refused != "" && (connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), step.refused)):
			t.Errorf("step %d: got %v, want resource_exhausted with %q", i, err, step.refused)
		}
	}
}

// What did not come to pass does not count.
func TestRateGivenBack(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := newRate(2, func() time.Time { return now })
	taken := func() func() {
		t.Helper()
		giveBack, err := r.take()
		if err != nil {
			t.Fatal(err)
		}
		return giveBack
	}
	taken()
	now = now.Add(time.Second)
	second := taken()
	second()
	second() // once is enough
	taken()
	if _, err := r.take(); err == nil || !strings.Contains(err.Error(), "try again in 59s") {
		t.Errorf("a third one: %v, want it to wait for the first", err)
	}
	now = now.Add(time.Hour)
	second() // long forgotten
	taken()
	taken()
	if _, err := r.take(); err == nil {
		t.Error("a third one an hour later is let through")
	}
}

// The rate is that of sessions that begin: whoever asks while one is under way takes nobody's place.
func TestRateOfStartsByCalls_SP1(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	defer tl.Close()
	rec := sessions.NewRecorder(sessions.Config{Timeline: tl, Policy: profiling.Policy{Remote: true}})
	defer rec.Close()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	_, h := newHandler(rec, Config{Logger: slog.New(slog.DiscardHandler), StartsPerMinute: 2}, func() time.Time { return now })
	call := func(procedure, argument string) string {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/perfline.profiler.v1.ProfilerService/"+procedure, strings.NewReader(argument))
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	begin := func(want string) {
		t.Helper()
		if got := call("StartProfiler", `{"startMode": "START_MODE_IMMEDIATE", "noSamples": true}`); !strings.HasPrefix(got, want) {
			t.Fatalf("a start: %s, want %s", got, want)
		}
	}
	end := func(id int) {
		t.Helper()
		if got := call("StopProfiler", fmt.Sprintf(`{"sessionID": %d}`, id)); !strings.HasPrefix(got, "200 ") {
			t.Fatalf("a stop: %s", got)
		}
	}
	begin("200 ")
	for range 20 {
		if got := call("StartProfiler", "{}"); !strings.HasPrefix(got, "400 ") {
			t.Fatalf("no start mode: %s", got)
		}
		begin("400 ") // one is under way
	}
	end(1)
	var second struct{ SessionID int }
	if got := call("StartProfiler", `{"startMode": "START_MODE_IMMEDIATE", "noSamples": true}`); json.Unmarshal([]byte(strings.TrimPrefix(got, "200 ")), &second) != nil {
		t.Fatalf("a second session: %s", got)
	}
	end(second.SessionID)
	begin(fmt.Sprint(http.StatusTooManyRequests))
	now = now.Add(time.Minute)
	begin("200 ")
}
