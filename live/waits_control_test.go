package live_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/waits"
)

// A waitsRecorder has hand-made results.
type waitsRecorder struct {
	mu      sync.Mutex // guards what follows
	state   waits.State
	refuses error // of Arm
	arms    []time.Duration
	results map[trace.SpanID]*waits.Request
	armed   time.Duration // total time armed
	passes  time.Duration // between two looks at Stats while armed
}

var (
	_ waits.Recorder   = (*waitsRecorder)(nil)
	_ waiting.Recorder = (*waitsRecorder)(nil)
)

func (*waitsRecorder) SetHeld(func([]local.ID) []bool)            {}
func (*waitsRecorder) Missing(local.ID, time.Time) waiting.Reason { return waiting.LessSlow }

func (*waitsRecorder) Start(*slog.Logger)                                    {}
func (*waitsRecorder) Slow(bridge.Root) bool                                 { return false }
func (*waitsRecorder) Watch(func(bridge.Root, *waits.Request)) (stop func()) { return func() {} }
func (*waitsRecorder) Shutdown(context.Context) error                        { return nil }

func (f *waitsRecorder) Stats() waits.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.Status == waits.Armed {
		f.armed += f.passes
	}
	return waits.Stats{Results: 3, Armed: f.armed}
}

func (f *waitsRecorder) Result(_ trace.TraceID, root trace.SpanID) (*waits.Request, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.results[root]
	return r, ok
}

func (f *waitsRecorder) Arm(d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuses != nil {
		f.state = waits.State{Status: waits.InUse, Reason: f.refuses.Error()}
		return f.refuses
	}
	f.arms = append(f.arms, d)
	f.state = waits.State{Status: waits.Armed, Until: time.UnixMilli(1e12)}
	return nil
}

func (f *waitsRecorder) Disarm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = waits.State{Status: waits.Disarmed}
}

func (f *waitsRecorder) State() waits.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// The time for which the recorder was armed has its present length, also while the recorder is armed.
// The passage of this time alone is no event of the stream.
func TestArmedTime(t *testing.T) {
	f := &waitsRecorder{state: waits.State{Status: waits.Armed}, passes: time.Second}
	c := allowed
	c.Waits = f
	p := start(t, c, live.Config{}.Refreshing(time.Millisecond))
	first := p.overview().Waits.Armed
	if second := p.overview().Waits.Armed; first < 1000 || second <= first {
		t.Errorf("the recorder was armed for %v ms and then %v ms, want more each time", first, second)
	}
	server, served := serveStreams(p)
	s, _ := open(t, server)
	got := 0
	for range 5 {
		p.serve("GET /a", "/a", func(http.ResponseWriter, *http.Request) {})
		for event, _ := s.next(); event != "requests"; event, _ = s.next() {
			switch event {
			case "":
				t.Fatal("the stream ended")
			case "waits":
				got++
			}
		}
	}
	if s.close(); got != 1 {
		t.Errorf("the stream had %d events of the waits recorder, want 1: nothing changed", got)
	}
	<-served
	f.mu.Lock()
	f.state, f.armed = waits.State{Status: waits.Disarmed}, 3125*time.Millisecond
	f.mu.Unlock()
	if got := p.overview().Waits.Armed; got != 3125 {
		t.Errorf("the disarmed recorder was armed for %v ms, want 3125", got)
	}
}

// armed returns a program with a waits recorder that is disarmed.
func withWaits(t *testing.T, c perfline.Config) (*program, *waitsRecorder) {
	t.Helper()
	f := &waitsRecorder{state: waits.State{Status: waits.Disarmed}, results: map[trace.SpanID]*waits.Request{}}
	c.Waits = f
	return start(t, c, live.Config{}), f
}

func TestWaitsControls(t *testing.T) {
	p, f := withWaits(t, allowed)
	if got := p.overview().Waits; got.Status != "disarmed" || got.Refused != "" {
		t.Fatalf("got %+v", got)
	}
	post := func(path, body string, status int) (got waitsState) {
		t.Helper()
		p.decode(p.do(ask(http.MethodPost, "waits/"+path, body)), path, status, &got)
		return got
	}
	if got := post("arm", `{"length":60000}`, http.StatusOK); got.Status != "armed" || got.Until != 1e12 {
		t.Errorf("armed: %+v", got)
	}
	post("arm", `{"length":0}`, http.StatusOK)
	if got := fmt.Sprint(f.arms); got != "[1m0s 0s]" {
		t.Errorf("armed for %s", got)
	}
	if got := post("disarm", `{}`, http.StatusOK); got.Status != "disarmed" {
		t.Errorf("disarmed: %+v", got)
	}
	f.refuses = fmt.Errorf("flight: %w: stop it", waits.ErrInUse)
	post("arm", `{"length":0}`, http.StatusConflict)
	if got := p.overview().Waits; got.Status != "in use" || !strings.Contains(got.Reason, "another flight recorder") {
		t.Errorf("beside another recorder: %+v", got)
	}
	f.refuses = errors.New("forbidden")
	post("arm", `{"length":0}`, http.StatusForbidden)
	f.refuses = nil
	for range 6 { // 10 with the four above
		post("arm", `{"length":0}`, http.StatusOK)
	}
	rec := p.do(ask(http.MethodPost, "waits/arm", `{"length":0}`))
	if rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") == "" {
		t.Errorf("the eleventh in a minute is %d %v", rec.Code, rec.Header())
	}
	if got := post("disarm", `{}`, http.StatusOK); got.Status != "disarmed" {
		t.Errorf("disarming is limited, too: %+v", got)
	}
}

func TestWaitsRefuses(t *testing.T) {
	p, f := withWaits(t, allowed)
	for _, c := range []struct {
		name, method, path, body, contentType, origin string
		want                                          int
		says                                          []string // texts in the error
	}{
		{"GET", http.MethodGet, "waits/arm", "", "", "", http.StatusNotFound, nil},
		{"HEAD", http.MethodHead, "waits/disarm", "", "", "", http.StatusNotFound, nil},
		{"a form", http.MethodPost, "waits/arm", "length=0", "application/x-www-form-urlencoded", "", http.StatusUnsupportedMediaType, nil},
		{"no JSON", http.MethodPost, "waits/arm", "length=0", "application/json", "", http.StatusBadRequest, nil},
		{"no body", http.MethodPost, "waits/disarm", "", "application/json", "", http.StatusBadRequest, nil},
		{"a field that is written wrong", http.MethodPost, "waits/arm", `{"lengths":5000}`, "application/json", "", http.StatusBadRequest, []string{"lengths"}},
		{"a field of another call", http.MethodPost, "waits/disarm", `{"length":0}`, "application/json", "", http.StatusBadRequest, []string{"length"}},
		{"two objects", http.MethodPost, "waits/arm", `{"length":1} {"length":2}`, "application/json", "", http.StatusBadRequest, nil},
		{"no length", http.MethodPost, "waits/arm", `{}`, "application/json", "", http.StatusBadRequest, []string{"length: must be given"}},
		{"a length of null", http.MethodPost, "waits/arm", `{"length":null}`, "application/json", "", http.StatusBadRequest, []string{"length: must be given"}},
		{"null", http.MethodPost, "waits/arm", `null`, "application/json", "", http.StatusBadRequest, nil},
		{"a list", http.MethodPost, "waits/arm", `[5000]`, "application/json", "", http.StatusBadRequest, nil},
		{"too large", http.MethodPost, "waits/arm", `{"length":0` + strings.Repeat(" ", 2000) + "}", "application/json", "", http.StatusBadRequest, nil},
		{"a negative length", http.MethodPost, "waits/arm", `{"length":-1}`, "application/json", "", http.StatusBadRequest, nil},
		{"more than a day", http.MethodPost, "waits/arm", `{"length":1e300}`, "application/json", "", http.StatusBadRequest, []string{"1e+300", "8.64e+07 milliseconds"}},
		{"less than a nanosecond", http.MethodPost, "waits/arm", `{"length":1e-7}`, "application/json", "", http.StatusBadRequest, []string{"1e-07", "1e-06"}},
		{"another origin", http.MethodPost, "waits/arm", `{}`, "application/json", "https://evil.example", http.StatusForbidden, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ask(c.method, c.path, c.body)
			r.Header.Set("Content-Type", c.contentType)
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
				r.Header.Set("Sec-Fetch-Site", "cross-site")
			}
			rec := p.do(r)
			if rec.Code != c.want {
				t.Errorf("status %d, want %d", rec.Code, c.want)
			}
			for _, text := range c.says {
				if !strings.Contains(rec.Body.String(), text) {
					t.Errorf("the answer is %s, want %q in it", rec.Body, text)
				}
			}
		})
	}
	if f.arms != nil || f.State().Status != waits.Disarmed {
		t.Errorf("armed for %v: %+v", f.arms, f.State())
	}

	p, f = withWaits(t, perfline.Config{}) // clients may not control the profiler
	for _, path := range []string{"waits/arm", "waits/disarm"} {
		if got := p.do(ask(http.MethodPost, path, `{}`)).Code; got != http.StatusForbidden {
			t.Errorf("%s without the policy: %d, want 403", path, got)
		}
	}
	if got := p.overview().Waits; !strings.Contains(got.Refused, "clients of the page") || strings.Contains(got.Refused, "remote caller") || f.arms != nil {
		t.Errorf("without the policy: %+v", got)
	}

	p = start(t, allowed, live.Config{}) // without a recorder
	if got := p.overview().Waits; got != (waitsState{Status: "none"}) {
		t.Errorf("without a recorder: %+v", got)
	}
	if got := p.do(ask(http.MethodPost, "waits/arm", `{"length":0}`)).Code; got != http.StatusNotFound {
		t.Errorf("arming without a recorder: %d", got)
	}
}
