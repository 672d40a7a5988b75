package live_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/waits"
)

const ms = time.Millisecond

// waited has the program record two requests. The second one waited for a mutex of the first, as the waits recorder says. Their times
// are made up: on a busy machine, another part of the second one could be too short for its bar.
func waited(t *testing.T) (p *program, f *waitsRecorder, result *waits.Request) {
	t.Helper()
	p, f = withWaits(t, allowed)
	began := time.Now().Add(-time.Second)
	tracer := p.pl.TracerProvider().Tracer("test")
	span := func(ctx context.Context, name string, kind trace.SpanKind, from, to time.Duration) (_ context.Context, end func()) {
		ctx, s := tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(began.Add(from)))
		return ctx, func() { s.End(trace.WithTimestamp(began.Add(to))) }
	}
	_, end := span(t.Context(), "POST /index", trace.SpanKindServer, 0, 60*ms)
	end()
	ctx, end := span(t.Context(), "GET /search", trace.SpanKindServer, 0, 100*ms)
	_, endLookup := span(ctx, "lookup", trace.SpanKindInternal, 10*ms, 60*ms)
	endLookup()
	end()
	if err := p.pl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	holder, q := p.overview().Requests.Requests[1], p.detail()
	traceID, root := ids(t, q.Trace, q.Span)
	holderTrace, holderRoot := ids(t, holder.Trace, holder.Span)
	_, lookup := ids(t, q.Trace, q.Rows[1].ID)
	const begin, over, took = 10 * ms, 60 * ms, 100 * ms
	stack := []waits.Frame{{Function: "sync.(*Mutex).Lock"}, {Function: "main.(*Index).Search\x00", File: "/src/app.go", Line: 3}}
	by := &waits.Party{Goroutine: 5, Function: "main.(*Index).rebuild", Request: "POST /index", TraceID: holderTrace, RootID: holderRoot, Stack: stack[1:]}
	gone := &waits.Party{Goroutine: 6, Function: "main.other", Request: "GET /gone", TraceID: trace.TraceID{1}, RootID: trace.SpanID{1}}
	own := &waits.Party{Goroutine: 7, Request: "GET /search", TraceID: traceID, RootID: root}
	result = &waits.Request{
		TraceID: traceID, RootID: root, Name: "GET /search", Duration: took,
		Goroutines: []waits.Goroutine{
			{ID: 1, Function: "net/http.(*conn).serve", Intervals: []waits.Interval{
				{Kind: waits.OnCPU, End: begin, SpanID: root},
				{Kind: waits.Mutex, Start: begin, End: over, SpanID: lookup, Stack: stack, By: by},
				{Kind: waits.Select, Start: over, End: over + 1, SpanID: root, Stack: stack, By: gone},
				{Kind: waits.Select, Start: over + 1, End: took, SpanID: root, By: own},
			}},
			{ID: 7, Function: "main.fetch"},
		},
		Causes: []waits.Cause{{Kind: waits.Mutex, Duration: over - begin, Function: "main.(*Index).Search", Via: "main.(*DB).Do", SpanID: lookup, By: by, In: gone}},
	}
	f.mu.Lock()
	f.results[root] = result
	f.mu.Unlock()
	return p, f, result
}

func ids(t *testing.T, traceID, spanID string) (trace.TraceID, trace.SpanID) {
	t.Helper()
	id, err := trace.TraceIDFromHex(traceID)
	if err != nil {
		t.Fatal(err)
	}
	span, err := trace.SpanIDFromHex(spanID)
	if err != nil {
		t.Fatal(err)
	}
	return id, span
}

func TestWaits(t *testing.T) {
	p, _, result := waited(t)
	d := p.detail()
	w := d.Waits
	if w == nil || w.Sentence == "" || w.Sentence != strings.ReplaceAll(result.Sentence(), "\x00", `\u0000`) || len(w.Causes) != 1 || w.Causes[0].Kind != waits.Mutex.String() {
		t.Fatalf("got %+v", w)
	}
	if c := w.Causes[0]; c.Via != "main.(*DB).Do" || c.Request == nil || c.Request.Request != "GET /gone" || c.By == nil {
		t.Errorf("the cause is %+v", c)
	}
	if len(w.Goroutines) != 2 || w.Goroutines[0].ID != 1 || len(w.Goroutines[0].Intervals) != 4 || len(w.Goroutines[1].Intervals) != 0 {
		t.Fatalf("goroutines are %+v", w.Goroutines)
	}
	holder := p.overview().Requests.Requests[1]
	mutex := w.Goroutines[0].Intervals[1]
	if mutex.Kind != waits.Mutex.String() || mutex.Class != "waiting" || mutex.In != `main.(*Index).Search\u0000` || mutex.Span != d.Rows[1].ID {
		t.Errorf("the wait is %+v", mutex)
	}
	if by := mutex.By; by == nil || by.Function != "main.(*Index).rebuild" || by.Request != "POST /index" || by.Trace != holder.Trace || by.Span != holder.Span || by.Own {
		t.Errorf("the party is %+v, want a link to %+v", by, holder)
	}
	if s := w.Stacks; len(s) != 2 || mutex.Stack == nil || len(s[*mutex.Stack]) != 2 || w.Frames[s[*mutex.Stack][0]].Function != "sync.(*Mutex).Lock" ||
		mutex.By.Stack == nil || w.Frames[s[*mutex.By.Stack][0]].File != "/src/app.go" || len(w.Frames) != 2 {
		t.Errorf("stacks are %+v, want the two that differ", s)
	}
	if by := w.Goroutines[0].Intervals[2].By; by == nil || by.Trace != "" || by.Request != "GET /gone" {
		t.Errorf("a party whose request is gone is %+v", by)
	}
	if by := w.Goroutines[0].Intervals[3].By; by == nil || !by.Own || by.Trace != "" {
		t.Errorf("a party of this request is %+v", by)
	}
	if row := d.Rows[1]; len(row.Segments) == 0 || len(row.Waits) != 1 || row.Waits[0].Kind != mutex.Kind || row.Waits[0].By == nil {
		t.Errorf("the span has %+v", row)
	}
	if first := d.Rows[0].Segments[0]; first.Kind == "" || first.Start != 0 {
		t.Errorf("the request begins with %+v", first)
	}
	picture := p.do(ask(http.MethodGet, "data/v1/requests/"+d.Trace+"/"+d.Span+"/svg", "")).Body.String()
	if !strings.Contains(picture, "<title>"+waits.Mutex.String()) {
		t.Error("the picture has no waits")
	}
}

// Without a result there is nothing of it but the reason: of a request, in its picture, and of a comparison.
func TestWithoutWaits(t *testing.T) {
	p, _ := withWaits(t, allowed)
	p.serve("GET /", "/", func(http.ResponseWriter, *http.Request) {})
	p.serve("GET /", "/", func(http.ResponseWriter, *http.Request) {})
	d := p.detail()
	if d.Waits != nil || d.Rows[0].Segments != nil || d.Rows[0].Waits != nil || d.NoWaits != string(waiting.LessSlow) {
		t.Errorf("got %+v", d)
	}
	for path, n := range map[string]int{"requests/" + d.Trace + "/" + d.Span + "/svg": 2, "compare?a=" + d.Trace + "/" + d.Span: 2} {
		if got := p.do(ask(http.MethodGet, "data/v1/"+path, "")).Body.String(); strings.Count(got, string(waiting.LessSlow)) != n {
			t.Errorf("%s has not %d times why there is no result:\n%s", path, n, got)
		}
	}
}

// A result without its details says so.
func TestWaitsWithoutDetails(t *testing.T) {
	p, _, result := waited(t)
	result.Goroutines, result.Omitted = nil, 2
	if w := p.detail().Waits; w == nil || w.Sentence == "" || w.Dropped != waiting.Dropped(result) || w.Dropped == "" {
		t.Errorf("got %+v, want the sentence, and why there is no more", w)
	}
}

// An execution trace may have any number of intervals. The longest are shown.
func TestLongestIntervals(t *testing.T) {
	p, _, result := waited(t)
	g := &result.Goroutines[1]
	for i := range 10_000 { // 1000 of 3 ns, and 9000 of 2 ns
		took := time.Duration(2)
		if i%10 == 0 {
			took = 3
		}
		g.Intervals = append(g.Intervals, waits.Interval{Kind: waits.Mutex, Start: time.Duration(3 * i), End: time.Duration(3*i) + took})
	}
	w := p.detail().Waits
	shown, long := 0, 0
	for _, g := range w.Goroutines {
		shown += len(g.Intervals)
		for _, i := range g.Intervals {
			if i.Took > 2.5e-6 {
				long++
			}
		}
	}
	if shown != 3000 || long < 1000 || w.Goroutines[1].Cut+len(w.Goroutines[1].Intervals) != 10_000 {
		t.Errorf("%d intervals, %d of them long, want 3000 with all 1000 long ones, and others counted: %d", shown, long, w.Goroutines[1].Cut)
	}
}

// Deep stacks of any names do not make the answer larger.
func TestWaitsAreBounded(t *testing.T) {
	p, _, result := waited(t)
	g := &result.Goroutines[1]
	deep := make([]waits.Frame, 95)
	for n := range deep {
		deep[n] = waits.Frame{Function: fmt.Sprint("main.f", n)}
	}
	long := strings.Repeat("x", 1000)
	for i := range 4000 {
		var stack []waits.Frame
		for n := range 5 {
			stack = append(stack, waits.Frame{Function: fmt.Sprint("main.f", i, n, long)})
		}
		stack = append(stack, deep...)
		g.Intervals = append(g.Intervals, waits.Interval{Kind: waits.Mutex, Start: time.Duration(3 * i), End: time.Duration(3*i + 1 + i%2), Stack: stack})
	}
	d := p.detail()
	got := d.Waits.Goroutines[1]
	if len(got.Intervals) > 3000 || len(got.Intervals)+got.Cut != 4000 {
		t.Errorf("%d intervals, and %d left out, want 3000 at most, and all", len(got.Intervals), got.Cut)
	}
	path := "data/v1/requests/" + d.Trace + "/" + d.Span
	if n := p.do(ask(http.MethodGet, path, "")).Body.Len(); n > 2<<20+10_000 {
		t.Errorf("%d bytes", n)
	}
	if d.Rows[0].WaitsCut == 0 { // its waits in 4000 functions
		t.Error("no wait of the root is left out")
	}
}

// A span shows its longest waits. The others' stacks take no room: neither in the list of stacks, nor from attributes.
func TestWaitsLeaveRoom(t *testing.T) {
	p, _, result := waited(t)
	g, root := &result.Goroutines[1], result.RootID
	at := time.Duration(0)
	did := func(i waits.Interval, took time.Duration) {
		i.Start, i.End, i.SpanID = at, at+took, root
		at = i.End
		g.Intervals = append(g.Intervals, i)
	}
	for range 3000 { // all that are shown
		did(waits.Interval{Kind: waits.OnCPU}, ms)
	}
	for i := range 1000 {
		by := &waits.Party{Goroutine: 8, Function: fmt.Sprint("main.f", i)}
		for n := range 64 {
			by.Stack = append(by.Stack, waits.Frame{Function: fmt.Sprint("main.f", i, n, strings.Repeat("x", 300))})
		}
		did(waits.Interval{Kind: waits.Mutex, By: by}, 1)
	}
	d := p.detail()
	if len(d.Rows[0].Waits) == 0 || d.Rows[0].WaitsCut < 900 {
		t.Fatalf("the request has %d waits and %d are left out, want some and the rest of 1000", len(d.Rows[0].Waits), d.Rows[0].WaitsCut)
	}
	if d.Cut.Attributes != 0 {
		t.Errorf("%d attributes are left out", d.Cut.Attributes)
	}
	refers := map[int]bool{}
	add := func(at *int) {
		if at != nil {
			refers[*at] = true
		}
	}
	for _, g := range d.Waits.Goroutines {
		for _, i := range g.Intervals {
			add(i.Stack)
			if i.By != nil {
				add(i.By.Stack)
			}
		}
	}
	for i, stack := range d.Waits.Stacks {
		if !refers[i] {
			t.Errorf("no interval has stack %d, of %d frames", i, len(stack))
			break
		}
	}
}

// Samples and the execution trace are on one axis: where the goroutine waited, as the trace says, there are no samples. The session's file has
// the waits.
func TestWaitsBesideSamples(t *testing.T) {
	p, f := withWaits(t, allowed)
	p.startSession(`{"startMode":"START_MODE_IMMEDIATE","wall":true}`)
	p.serve("GET /work", "/work", func(http.ResponseWriter, *http.Request) { burn(200*ms, p.sampled()) })
	p.call("StopProfiler", `{"sessionID":1}`, nil)
	d := p.detail()
	if d.Session != 1 || len(d.Rows[0].Hot) == 0 || d.Waits != nil {
		t.Fatalf("without an execution trace: %+v", d)
	}
	traceID, root := ids(t, d.Trace, d.Span)
	f.mu.Lock()
	f.results[root] = &waits.Request{
		TraceID: traceID, RootID: root, Name: "GET /work", Duration: 200 * ms,
		Goroutines: []waits.Goroutine{{ID: 1, Intervals: []waits.Interval{{Kind: waits.Timer, End: time.Minute, SpanID: root}}}},
		Causes:     []waits.Cause{{Kind: waits.Timer, Duration: 200 * ms}},
	}
	f.mu.Unlock()
	d = p.detail()
	for _, hot := range d.Rows[0].Hot {
		if !strings.HasSuffix(hot.Name, "(waits)") {
			t.Errorf("while the goroutine waits, %s runs", hot.Name)
		}
	}
	if d.Waits.Contradictions == 0 {
		t.Error("no contradictions are counted")
	}
	file := p.do(ask(http.MethodGet, "data/v1/sessions/1/firefox", "")).Body.String()
	if !strings.Contains(file, `"goroutine 1"`) || !strings.Contains(file, "waited for a timer") {
		t.Errorf("the session's file has no waits: %.300s", file)
	}
}

// notSlow is a recorder for which no request was slow.
type notSlow struct{ *waitsRecorder }

func (notSlow) Missing(local.ID, time.Time) waiting.Reason { return waiting.NotSlow }

// A request inside another one names the other one in its reason, and links to the other one.
func TestInnerRequestNamesTheOther(t *testing.T) {
	p := start(t, perfline.Config{Waits: notSlow{&waitsRecorder{}}}, live.Config{})
	tracer := p.pl.TracerProvider().Tracer("t")
	ctx, outer := tracer.Start(t.Context(), "GET /outer", trace.WithSpanKind(trace.SpanKindServer))
	_, call := tracer.Start(ctx, "GET", trace.WithSpanKind(trace.SpanKindClient))
	_, inner := tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), call.SpanContext()), "GET /inner", trace.WithSpanKind(trace.SpanKindServer))
	for _, s := range []trace.Span{inner, call, outer} {
		s.End()
	}
	id := outer.SpanContext().SpanID().String()
	for _, c := range []struct {
		of              trace.Span
		inside, noWaits string
	}{{inner, id, "the request is inside request " + id + ": see the causes of that request"}, {outer, "", string(waiting.NotSlow)}} {
		var d detail
		sc := c.of.SpanContext()
		p.get("data/v1/requests/"+sc.TraceID().String()+"/"+sc.SpanID().String(), http.StatusOK, &d)
		if d.Inside != c.inside || d.NoWaits != c.noWaits {
			t.Errorf("%s: inside %q, reason %q; want %q and %q", d.Name, d.Inside, d.NoWaits, c.inside, c.noWaits)
		}
	}
}
