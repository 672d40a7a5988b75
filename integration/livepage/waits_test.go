package livepage

import (
	"github.com/perfline/perfline"

	public "github.com/perfline/perfline/requests"

	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// A waiting program has two requests, of which one waited for the other, as its waits recorder says.
type waiting struct {
	*perfline.Pipeline // none
	recent             *requests.Recent
	sessions           *sessions.Recorder
	recorder           waits.Recorder // nil without one
	minute             *profile.Trace // nil without a profiler that runs all the time
	deaths             *perfline.Deaths
}

func (w *waiting) Recent() *public.Store        { return (*public.Store)(w.recent) }
func (w *waiting) Sessions() *sessions.Recorder { return w.sessions }
func (w *waiting) Waits() waits.Recorder        { return w.recorder }
func (*waiting) Runtime() *perfline.Runtime     { return nil }
func (w *waiting) Counts() []exporter.Count     { return nil }
func (w *waiting) LastMinute() *profile.Trace   { return w.minute }
func (w *waiting) Deaths() *perfline.Deaths     { return w.deaths }

// waitsRecorder has one result.
type waitsRecorder struct {
	result *waits.Request

	mu    sync.Mutex // guards what follows
	state waits.State
}

func (*waitsRecorder) Start(*slog.Logger)                                    {}
func (*waitsRecorder) Slow(bridge.Root) bool                                 { return false }
func (*waitsRecorder) Watch(func(bridge.Root, *waits.Request)) (stop func()) { return func() {} }
func (*waitsRecorder) Shutdown(context.Context) error                        { return nil }
func (*waitsRecorder) Stats() waits.Stats                                    { return waits.Stats{Results: 1} }
func (f *waitsRecorder) Result(id trace.TraceID, root trace.SpanID) (*waits.Request, bool) {
	return f.result, id == f.result.TraceID && root == f.result.RootID
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

func (f *waitsRecorder) Disarm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = waits.State{Status: waits.Disarmed}
}

const ms = time.Millisecond

// startWaiting starts the program and its page, and returns the address of the request that waited.
func startWaiting(t *testing.T) (w *waiting, page, request string) {
	t.Helper()
	w = &waiting{recent: requests.NewRecent(requests.Config{})}
	tl := observer.NewTimeline(observer.TimelineOptions{})
	t.Cleanup(tl.Close)
	w.sessions = sessions.NewRecorder(sessions.Config{Timeline: tl, Policy: profiling.Policy{Remote: true}})
	t.Cleanup(w.sessions.Close)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.recent)).Tracer("shop")
	began := time.Now().Add(-time.Second)
	span := func(ctx context.Context, name string, kind trace.SpanKind, from, to time.Duration) (context.Context, trace.SpanContext) {
		ctx, s := tracer.Start(ctx, name, trace.WithTimestamp(began.Add(from)), trace.WithSpanKind(kind))
		defer s.End(trace.WithTimestamp(began.Add(to)))
		return ctx, s.SpanContext()
	}
	_, holder := span(t.Context(), "POST /index", trace.SpanKindServer, 0, 50*ms)
	ctx, root := tracer.Start(t.Context(), "GET /search", trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindServer))
	_, lookup := span(ctx, "lookup", trace.SpanKindInternal, 10*ms, 60*ms)
	root.End(trace.WithTimestamp(began.Add(100 * ms)))
	id := root.SpanContext()

	stack := []waits.Frame{{Function: "sync.(*Mutex).Lock", File: "/go/sync/mutex.go", Line: 46}, {Function: "main.(*Index).Search", File: "/src/app/index.go", Line: 7}}
	by := &waits.Party{Goroutine: 99, Function: "main.(*Index).rebuild", Request: "POST /index", TraceID: holder.TraceID(), RootID: holder.SpanID(),
		Stack: []waits.Frame{{Function: "main.(*Index).rebuild", File: "/src/app/index.go", Line: 70}}}
	did := func(kind waits.Kind, from, to time.Duration, span trace.SpanID, stack []waits.Frame, by *waits.Party) waits.Interval {
		return waits.Interval{Kind: kind, Start: from, End: to, SpanID: span, Stack: stack, By: by}
	}
	w.recorder = &waitsRecorder{state: waits.State{Status: waits.Disarmed}, result: &waits.Request{
		TraceID: id.TraceID(), RootID: id.SpanID(), Name: "GET /search", Start: began, Duration: 100 * ms,
		Goroutines: []waits.Goroutine{
			{ID: 7, Function: "net/http.(*conn).serve", Intervals: []waits.Interval{
				did(waits.OnCPU, 0, 10*ms, id.SpanID(), nil, nil), did(waits.Mutex, 10*ms, 50*ms, lookup.SpanID(), stack, by),
				did(waits.Runnable, 50*ms, 60*ms, lookup.SpanID(), stack, nil), did(waits.Syscall, 60*ms, 80*ms, id.SpanID(), stack, nil),
				did(waits.Gap, 80*ms, 100*ms, id.SpanID(), nil, nil),
			}},
			{ID: 8, Function: "main.fetch", Intervals: []waits.Interval{did(waits.Network, 20*ms, 40*ms, id.SpanID(), stack, nil)}},
		},
		Causes: []waits.Cause{{Kind: waits.Mutex, Duration: 40 * ms, Function: "main.(*Index).Search", SpanID: lookup.SpanID(), By: by}},
	}}
	return w, w.serve(t), fmt.Sprintf("#/requests/%s/%s", id.TraceID(), id.SpanID())
}

// serve serves the page of w, and returns its address.
func (w *waiting) serve(t *testing.T) string {
	return listen(t, http.StripPrefix("/p", live.Handler(w, live.Config{Prefix: "/"}))) + "/p/"
}

// A request shows why it was slow: in a sentence, in its bars, and for each goroutine with the stacks and the party of each wait.
func TestWaits(t *testing.T) {
	w, page, request := startWaiting(t)
	p := open(t, page+request, View{})
	p.wait(`document.querySelector("#waterfall tbody tr") && document.querySelector("#goroutines .goroutine")`)
	if got, want := p.text("#sentence"), w.recorder.(*waitsRecorder).result.Sentence(); got != want {
		t.Errorf("the sentence is %q, want %q", got, want)
	}
	bars := eval[[]string](p, `[...document.querySelectorAll("#waterfall tbody tr:first-child .part")].map((part) => part.dataset.class + " " + part.title)`)
	if got, want := strings.Join(bars, ", "), "running running 10.0 ms, waiting mutex 40.0 ms in (*Index).Search, ended by (*Index).rebuild of POST /index, "+
		"runnable runnable 10.0 ms in (*Index).Search, system call or C code system call 20.0 ms in (*Index).Search, not in the trace gap 20.0 ms"; got != want {
		t.Errorf("the request's bar is %s\nwant %s", got, want)
	}
	if n := eval[int](p, `[...document.querySelectorAll("#waterfall .part")].filter((part) => part.getBoundingClientRect().width >= 1).length`); n != 7 {
		t.Errorf("%d parts of bars are to be seen, want 5 of the request and 2 of its span", n)
	}
	p.click("#waterfall tbody tr:nth-child(2) .pick")
	p.wait(`document.querySelector("#details .waits li")?.innerText === "40.0 ms mutex in (*Index).Search, ended by (*Index).rebuild of POST /index"`)

	// By keyboard: the goroutine opens, then the stack of its wait.
	eval[bool](p, `(document.querySelector(".goroutine summary").focus(), true)`)
	p.press(kb.Enter)
	p.wait(`document.querySelectorAll(".goroutine[open] tbody tr").length === 5`)
	if got, want := p.text(".goroutine[open] th:nth-child(5)"), "Ended by, or had the processor"; got != want {
		t.Errorf("the fifth column is %q, want %q", got, want)
	}
	eval[bool](p, `(document.querySelector(".goroutine tbody tr:nth-child(2) .stack summary").focus(), true)`)
	p.press(kb.Enter)
	p.wait(`document.querySelector(".goroutine .stack[open]")?.innerText.includes("sync.(*Mutex).Lock /go/sync/mutex.go:46")`)
	if picture := os.Getenv("WAITS_PICTURE"); picture != "" {
		p.must(p.Look(View{Width: 1280, Height: 1100}))
		file, err := p.Picture()
		p.must(err)
		p.must(os.WriteFile(picture, file, 0o600))
	}
	p.accessible()

	p.click(".goroutine tbody tr:nth-child(2) td:nth-child(5) a") // the request of the party
	p.wait(`document.querySelector("h1")?.innerText === "POST /index" && document.querySelector("#goroutines")?.innerText.includes("There is no result")`)
	p.click(`#goroutines a[href="#/waits"]`)
	p.wait(`document.querySelector("#waits-state")?.innerText === "not armed"`)
}

// The recorder is armed and disarmed on the page, which says what it costs, and why it cannot be armed.
func TestWaitsRecorder(t *testing.T) {
	w, page, _ := startWaiting(t)
	p := open(t, page+"#/waits", View{})
	p.wait(`document.querySelector("#waits-state")?.innerText === "not armed" && document.querySelector("#disarm:disabled")`)
	if got := p.text("#waits-cost"); !strings.Contains(got, "4 to 20 %") {
		t.Errorf("the cost is %q", got)
	}
	p.click("#arm")
	p.wait(`document.querySelector("#waits-state").innerText === "armed" && document.querySelector("#waits-more").innerText.startsWith("Until ")`)
	p.wait(`document.querySelector("#nav-waits").checkVisibility()`)
	p.accessible()
	p.click("#arm-long")
	p.wait(`document.querySelector("#waits-more").innerText === "Until it is disarmed."`)
	p.click("#disarm")
	p.wait(`document.querySelector("#waits-state").innerText === "not armed" && document.activeElement.id === "arm"`)
	p.wait(`!document.querySelector("#nav-waits").checkVisibility()`)

	recorder := w.recorder.(*waitsRecorder)
	recorder.mu.Lock()
	recorder.state = waits.State{Status: waits.InUse, Reason: "seen by this test"}
	recorder.mu.Unlock()
	p.wait(`document.querySelector("#waits-state").innerText.includes("another flight recorder runs in this process")`)
	p.wait(`/Stop the other one.* seen by this test/.test(document.querySelector("#waits-more").innerText)`)
}

// Without a recorder, the page says how to add one.
func TestNoWaitsRecorder(t *testing.T) {
	w, _, _ := startWaiting(t)
	w.recorder = nil
	p := open(t, w.serve(t)+"#/waits", View{})
	p.wait(`document.querySelector("#waits-how")?.checkVisibility() && document.querySelector("#waits-how").innerText.includes("flight.NewRecorder")`)
	if eval[bool](p, `document.querySelector("#arm").checkVisibility()`) {
		t.Error("there is a button to arm nothing")
	}
	p.accessible()
}
