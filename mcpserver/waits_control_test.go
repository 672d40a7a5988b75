package mcpserver_test

import (
	"context"
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
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/waits"
)

// A waitsRecorder records nothing: it knows whether it is armed, and gets its results from a test.
type waitsRecorder struct {
	waits.Recorder
	watching chan func(bridge.Root, *waits.Request) // gets what watches

	mu      sync.Mutex // guards what follows
	state   waits.State
	pending []bridge.Root
	result  *waits.Request
}

func disarmed() *waitsRecorder {
	return &waitsRecorder{state: waits.State{Status: waits.Disarmed}, watching: make(chan func(bridge.Root, *waits.Request), 10)}
}

func (*waitsRecorder) Start(*slog.Logger)             {}
func (*waitsRecorder) Shutdown(context.Context) error { return nil }

func (f *waitsRecorder) Stats() waits.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return waits.Stats{Slow: uint64(len(f.pending)), Pending: uint64(len(f.pending))}
}

func (f *waitsRecorder) Slow(root bridge.Root) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = append(f.pending, root)
	return true
}

func (f *waitsRecorder) Watch(watcher func(bridge.Root, *waits.Request)) (stop func()) {
	f.watching <- watcher
	return func() {}
}

func (f *waitsRecorder) Result(_ trace.TraceID, root trace.SpanID) (*waits.Request, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.result, f.result != nil && f.result.RootID == root
}

// give makes the result of the only request that waits for one.
func (f *waitsRecorder) give() (bridge.Root, *waits.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	root := f.pending[0]
	f.result = &waits.Request{
		TraceID: root.TraceID, RootID: root.SpanID, Name: root.Name, Start: root.Start, Duration: root.End.Sub(root.Start),
		Causes: []waits.Cause{{Kind: waits.OnCPU, Duration: root.End.Sub(root.Start), Function: "main.work"}},
	}
	return root, f.result
}

func (f *waitsRecorder) State() waits.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

func (f *waitsRecorder) Arm(d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = waits.State{Status: waits.Armed}
	if d > 0 {
		f.state.Until = time.Now().Add(d)
	}
	return nil
}

// withWaits is remote with a waits recorder.
func withWaits() perfline.Config {
	c := remote
	c.Waits = disarmed()
	return c
}

// Without a time, the recorder is armed for a minute.
func TestArmForTheUsualTime(t *testing.T) {
	p := start(t, withWaits())
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	if text := a.ask("arm_waits", nil); !strings.Contains(text, "is armed for 60 s") {
		t.Errorf("got %s", text)
	}
}

func TestArm(t *testing.T) {
	p := start(t, withWaits())
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	text := a.ask("get_waits_state", nil)
	if !strings.Contains(text, "waits recorder: disarmed") {
		t.Errorf("got %s", text)
	}
	next := suggested(t, text, "arm_waits")
	if text := a.ask(next.tool, next.arguments); !strings.Contains(text, "is armed for 60 s") {
		t.Errorf("got %s", text)
	}
	if text := a.ask("get_waits_state", nil); !strings.Contains(text, "waits recorder: armed\nuntil: ") || strings.Contains(text, "next: arm_waits") {
		t.Errorf("got %s", text)
	}
	if text := a.refused("arm_waits", map[string]any{"seconds": 3601}); !strings.Contains(text, "seconds 3601: must be from 1 to 3600") {
		t.Errorf("got %s", text)
	}
}

// A call never ends the time earlier for which the program or its user armed the recorder.
func TestArmKeepsALongerTime(t *testing.T) {
	p := start(t, withWaits())
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	arm := func(d time.Duration) time.Time {
		t.Helper()
		if err := p.pl.Waits().Arm(d); err != nil {
			t.Fatal(err)
		}
		return p.pl.Waits().State().Until
	}
	for _, c := range []struct {
		name  string
		armed time.Duration
		want  string
	}{
		{"without an end", 0, "The waits recorder was armed before, until the program disarms it"},
		{"longer", time.Hour, "The waits recorder was armed before, until 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := arm(c.armed)
			if text := a.ask("arm_waits", map[string]any{"seconds": 60}); !strings.Contains(text, c.want) {
				t.Errorf("got %s, want %s", text, c.want)
			}
			if got := p.pl.Waits().State(); got.Status != waits.Armed || !got.Until.Equal(before) {
				t.Errorf("the recorder is %s until %v, want armed until %v as before", got.Status, got.Until, before)
			}
		})
	}
	t.Run("shorter", func(t *testing.T) {
		before := arm(time.Minute)
		a.ask("arm_waits", map[string]any{"seconds": 600})
		if got := p.pl.Waits().State().Until; !got.After(before.Add(time.Minute)) {
			t.Errorf("the recorder is armed until %v, want 10 minutes from now", got)
		}
	})
}

// Without the permission, an error tells how the user can give it.
func TestArmNeedsPermission(t *testing.T) {
	p := start(t, perfline.Config{Waits: disarmed()})
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	if text := a.ask("get_waits_state", nil); !strings.Contains(text, "Clients may not arm the waits recorder") || strings.Contains(text, "next: arm_waits") {
		t.Errorf("got %s", text)
	}
	if text := a.refused("arm_waits", map[string]any{"seconds": 60}); !strings.Contains(text, "profiling.Policy{Remote: true}") {
		t.Errorf("got %s", text)
	}
	if got := p.pl.Waits().State().Status; got != waits.Disarmed {
		t.Errorf("the recorder is %s", got)
	}
}

// An agent is often faster than the recorder: get_request waits for the result of a slow request.
func TestResultComesDuringTheCall(t *testing.T) {
	f := disarmed()
	p := start(t, perfline.Config{Waits: f, Keep: bridge.KeepPolicy{Slow: 1}})
	p.serve("GET /a", "/a", func(http.ResponseWriter, *http.Request) {})
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	next := suggested(t, a.ask("list_requests", nil), "get_request")
	answer := make(chan string, 1)
	go func() {
		text, _ := a.call(next.tool, next.arguments)
		answer <- text
	}()
	select {
	case watcher := <-f.watching:
		watcher(f.give())
	case text := <-answer:
		t.Fatalf("get_request does not wait for the result:\n%s", text)
	}
	if text := <-answer; !strings.Contains(text, "ran on a processor in ‹main.work›") {
		t.Errorf("get_request has no cause:\n%s", text)
	}
}

// reasons is a recorder that says why there is no result.
type reasons struct{ *waitsRecorder }

func (reasons) SetHeld(func([]local.ID) []bool)            {}
func (reasons) Missing(local.ID, time.Time) waiting.Reason { return waiting.RateLimited }

// get_request has the recorder's reason, and does not wait unless the request waits for its analysis.
func TestReasonWithoutResult(t *testing.T) {
	f := reasons{disarmed()}
	p := start(t, perfline.Config{Waits: f, Keep: bridge.KeepPolicy{Slow: 1}})
	p.serve("GET /a", "/a", func(http.ResponseWriter, *http.Request) {}) // pending, for another recorder
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	next := suggested(t, a.ask("list_requests", nil), "get_request")
	if text := a.ask(next.tool, next.arguments); !strings.Contains(text, "cause: unknown, "+string(waiting.RateLimited)+"\n") || len(f.watching) > 0 {
		t.Errorf("got\n%s\nwant the reason at once", text)
	}
	f.give()
	f.result.Omitted = 3
	if text := a.ask(next.tool, next.arguments); !strings.Contains(text, "ran on a processor in ‹main.work›\n"+waiting.Dropped(f.result)+"\n") {
		t.Errorf("got\n%s\nwant the cause, and why there is no more", text)
	}
}

// A request that was not slow gets no result: get_request does not wait for results of other requests.
func TestUsualRequestDoesNotWait(t *testing.T) {
	f := disarmed()
	p := start(t, perfline.Config{Waits: f, Keep: bridge.KeepPolicy{Slow: -1}}) // or a request that stands still for a second is slow
	p.serve("GET /a", "/a", func(http.ResponseWriter, *http.Request) {})
	f.Slow(bridge.Root{}) // another one
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	next := suggested(t, a.ask("list_requests", nil), "get_request")
	if text := a.ask(next.tool, next.arguments); !strings.Contains(text, "cause: unknown") || len(f.watching) > 0 {
		t.Errorf("get_request waits for the result of a request that was not slow:\n%s", text)
	}
}

// notSlow is a recorder for which no request was slow.
type notSlow struct{ *waitsRecorder }

func (notSlow) SetHeld(func([]local.ID) []bool)            {}
func (notSlow) Missing(local.ID, time.Time) waiting.Reason { return waiting.NotSlow }

// get_request leads from a request inside another one to the other one.
func TestReasonOfAnInnerRequest(t *testing.T) {
	p := start(t, perfline.Config{Waits: notSlow{disarmed()}})
	tracer := p.pl.TracerProvider().Tracer("t")
	ctx, outer := tracer.Start(t.Context(), "GET /outer", trace.WithSpanKind(trace.SpanKindServer))
	_, call := tracer.Start(ctx, "GET", trace.WithSpanKind(trace.SpanKindClient))
	_, inner := tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), call.SpanContext()), "GET /inner", trace.WithSpanKind(trace.SpanKindServer))
	for _, s := range []trace.Span{inner, call, outer} {
		s.End()
	}
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	id := outer.SpanContext().SpanID().String()
	text := a.ask("get_request", map[string]any{"request": inner.SpanContext().SpanID().String()})
	if !strings.Contains(text, "cause: unknown, the request is inside request "+id+": see the causes of that request\n") {
		t.Errorf("got\n%s\nwant the request around", text)
	}
	if next := suggested(t, text, "get_request"); next.arguments["request"] != id {
		t.Errorf("the suggestion is %v", next)
	}
}
