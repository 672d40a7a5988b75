package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/service"
	"github.com/perfline/perfline/profiling/sessions"
)

// starting is a recorder whose starts take some time, and fail if err is set.
type starting struct {
	service.Recorder
	took time.Duration
	err  error
}

func (*starting) Config() sessions.Config {
	return sessions.Config{Policy: profiling.Policy{Remote: true}}
}

func (r *starting) Start(context.Context, sessions.StartOptions) (sessions.SessionID, error) {
	time.Sleep(r.took)
	return 1, r.err
}

// caller returns a function that calls a procedure of the service with JSON, and returns the status and the body.
func caller(t *testing.T, r service.Recorder, startsPerMinute int) func(procedure, argument string) string {
	t.Helper()
	_, h := service.NewHandlerOf(r, service.Config{Logger: slog.New(slog.DiscardHandler)}.WithStarts(startsPerMinute))
	return func(procedure, argument string) string {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/perfline.profiler.v1.ProfilerService/"+procedure, strings.NewReader(argument))
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return fmt.Sprint(w.Code, " ", w.Body)
	}
}

const aStart = `{"startMode": "START_MODE_IMMEDIATE", "noSamples": true}`

// The rate allows some starts in any minute, and a refusal says when to try again.
func TestRateOfStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := caller(t, &starting{}, 3)
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
			time.Sleep(step.after)
			got := call("StartProfiler", aStart)
			switch {
			case step.refused == "" && !strings.HasPrefix(got, "200 "):
				t.Errorf("step %d: refused: %s", i, got)
			case step.refused != "" && (!strings.HasPrefix(got, "429 ") || !strings.Contains(got, "resource_exhausted") || !strings.Contains(got, step.refused)):
				t.Errorf("step %d: got %s, want resource_exhausted with %q", i, got, step.refused)
			}
		}
	})
}

// A start that failed does not count, whenever it failed.
func TestRateOfFailedStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &starting{}
		call := caller(t, r, 2)
		fail := func(after time.Duration) {
			t.Helper()
			r.took, r.err = after, fmt.Errorf("%w: fails", sessions.ErrInProgress)
			if got := call("StartProfiler", aStart); !strings.HasPrefix(got, "400 ") {
				t.Fatalf("a start that fails: %s", got)
			}
			r.took, r.err = 0, nil
		}
		begin := func() {
			t.Helper()
			if got := call("StartProfiler", aStart); !strings.HasPrefix(got, "200 ") {
				t.Fatalf("a start: %s", got)
			}
		}
		refused := func(want string) {
			t.Helper()
			if got := call("StartProfiler", aStart); !strings.HasPrefix(got, "429 ") || !strings.Contains(got, want) {
				t.Errorf("a third start: %s, want it refused with %q", got, want)
			}
		}
		begin()
		time.Sleep(time.Second)
		fail(0)
		begin()
		refused("try again in 59s")
		time.Sleep(time.Hour)
		fail(time.Hour) // when it fails it has left the minute
		begin()
		begin()
		refused("try again in 1m0s")
	})
}

// The rate counts sessions that begin: a refused start, while another session is in progress, does not count.
func TestRateOfStartsByCalls_SP1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tl := observer.NewTimeline(observer.TimelineOptions{})
		defer tl.Close()
		rec := sessions.NewRecorder(sessions.Config{Timeline: tl, Policy: profiling.Policy{Remote: true}})
		defer rec.Close()
		call := caller(t, rec, 2)
		begin := func(want string) {
			t.Helper()
			if got := call("StartProfiler", aStart); !strings.HasPrefix(got, want) {
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
		if got := call("StartProfiler", aStart); json.Unmarshal([]byte(strings.TrimPrefix(got, "200 ")), &second) != nil {
			t.Fatalf("a second session: %s", got)
		}
		end(second.SessionID)
		begin(fmt.Sprint(http.StatusTooManyRequests))
		time.Sleep(time.Minute)
		begin("200 ")
	})
}
