package perfline_test

import (
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/waits"
)

// recalling is a recorder with one result.
type recalling struct {
	answers
	result *waits.Request
}

func (r *recalling) Result(trace.TraceID, trace.SpanID) (*waits.Request, bool) {
	return r.result, r.result != nil
}

// An execution trace knows the names of requests before their routes. Each reader of a result gets the names that requests in memory have. A
// request that is not in memory retains its first name, and a request that is running gets its name at its end.
func TestNamesOfParties(t *testing.T) { overBoth(t, testNamesOfParties) }

func testNamesOfParties(t *testing.T, start starter) {
	recorder := &recalling{}
	pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Sampler: sdktrace.AlwaysSample()})
	begin := func() trace.Span {
		_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET", trace.WithSpanKind(trace.SpanKindServer))
		return span
	}
	end := func(span trace.Span, route string) {
		span.SetName(route)
		span.End()
	}
	party := func(of trace.SpanContext) *waits.Party {
		return &waits.Party{Goroutine: 1, Function: "shop.hold", Request: "GET", TraceID: of.TraceID(), RootID: of.SpanID()}
	}
	slow, holder, running := begin(), begin(), begin()
	end(slow, "GET /slow")
	end(holder, "GET /holder")
	gone := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	shared := party(running.SpanContext())
	id := slow.SpanContext()
	q := &waits.Request{
		TraceID: id.TraceID(), RootID: id.SpanID(), Name: "GET", Duration: 4 * time.Second,
		Goroutines: []waits.Goroutine{{Intervals: []waits.Interval{{Kind: waits.Mutex, By: party(holder.SpanContext())}, {Kind: waits.Mutex, By: shared}, {Kind: waits.OnCPU}}}},
		Causes: []waits.Cause{
			{Kind: waits.Mutex, Duration: 3 * time.Second, In: party(holder.SpanContext()), By: party(gone)},
			{Kind: waits.Pool, Duration: time.Second, By: shared},
		},
	}
	recorder.result = q
	var watched *waits.Request
	defer pl.Waits().Watch(func(_ bridge.Root, q *waits.Request) { watched = q })()
	recorder.watcher(bridge.Root{}, q)
	read := func() *waits.Request {
		got, ok := pl.Waits().Result(id.TraceID(), id.SpanID())
		if !ok {
			t.Fatal("there is no result")
		}
		return got
	}
	const first = "3.0 s of 4.0 s: waited for GET /holder, which waited for a mutex that GET held in shop.hold; 1.0 s: waited for a database connection that GET held in shop.hold"
	got := read()
	for what, q := range map[string]*waits.Request{"read": got, "watched": watched} {
		if s := q.Sentence(); s != first || q.Name != "GET /slow" || q.Goroutines[0].Intervals[0].By.Request != "GET /holder" {
			t.Errorf("%s: %s: %s\nwant %s", what, q.Name, s, first)
		}
	}
	if read() != got {
		t.Error("the same result is made anew")
	}
	end(running, "GET /running")
	got = read()
	if s, want := got.Sentence(), strings.Replace(first, "connection that GET held", "connection that GET /running held", 1); s != want || got.Goroutines[0].Intervals[1].By.Request != "GET /running" {
		t.Errorf("after the end of the running request: %s\nwant %s", s, want)
	}
	if read() != got || q.Name != "GET" || shared.Request != "GET" {
		t.Errorf("the recorder's own result is %q with a party %q, or the result is made anew", q.Name, shared.Request)
	}
	recorder.result = nil
	if _, ok := pl.Waits().Result(id.TraceID(), id.SpanID()); ok {
		t.Error("a result that is gone is there")
	}
}
