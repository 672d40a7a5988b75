package lookup_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// snapshots returns requests with the ids 1, 2, 3 …, each with a text of a size.
func snapshots(n, size int) []requests.Snapshot {
	recent := requests.NewRecent(requests.Config{Requests: n})
	start := time.Unix(0, 0)
	for i := range n {
		id := byte(i + 1)
		recent.OnEnd(tracetest.SpanStub{
			Name: "GET /", SpanKind: trace.SpanKindServer, StartTime: start, EndTime: start.Add(time.Second),
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{id}, SpanID: trace.SpanID{id}, TraceFlags: trace.FlagsSampled}),
			Attributes:  []attribute.KeyValue{attribute.String("text", strings.Repeat("x", size))},
		}.Snapshot())
	}
	newest := recent.Requests()
	slices.Reverse(newest)
	return newest
}

// ids are the first bytes of the ids of what a cache has, the last request first.
func ids(c *lookup.Cache) string {
	var all []byte
	for _, s := range c.All() {
		all = append(all, '0'+s.SpanID[0])
	}
	return string(all)
}

func TestCache(t *testing.T) {
	s, large := snapshots(6, 10), snapshots(7, 10_000)[6]
	for _, c := range []struct {
		name            string
		most, mostBytes int
		add             func(*lookup.Cache)
		want            string
	}{
		{"the last one comes first", 9, 1 << 20, func(c *lookup.Cache) { c.Add(s[0]); c.Add(s[1]); c.Add(s[2]) }, "321"},
		{"one that is added again is the last one", 9, 1 << 20, func(c *lookup.Cache) { c.Add(s[0]); c.Add(s[1]); c.Add(s[0]) }, "12"},
		{"the oldest goes first", 2, 1 << 20, func(c *lookup.Cache) { c.Add(s[0]); c.Add(s[1]); c.Add(s[2]) }, "32"},
		{"the first of new ones is the last one", 9, 1 << 20, func(c *lookup.Cache) { c.Add(s[5]); c.AddNew(s[:3]) }, "1236"},
		{"a known one keeps its place among new ones", 9, 1 << 20, func(c *lookup.Cache) { c.Add(s[0]); c.Add(s[1]); c.AddNew(s[:3]) }, "321"},
		{"bytes are bounded", 9, 2*s[0].Bytes() + 1, func(c *lookup.Cache) { c.AddNew(s) }, "12"},
		{"bytes of one that is added again count once", 9, 2 * s[0].Bytes(), func(c *lookup.Cache) { c.Add(s[0]); c.Add(s[1]); c.Add(s[1]) }, "21"},
		{"one with too many bytes takes no other's place", 9, 3 * s[0].Bytes(), func(c *lookup.Cache) { c.Add(s[0]); c.Add(large); c.Add(s[1]) }, "21"},
		{"one with too many bytes does not stay", 9, s[0].Bytes() - 1, func(c *lookup.Cache) { c.Add(s[0]) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := lookup.NewCache(c.most, c.mostBytes)
			c.add(cache)
			if got := ids(cache); got != c.want {
				t.Errorf("the cache has %q, want %q", got, c.want)
			}
			for i := range s {
				_, got := cache.Get(s[i].ID())
				if want := strings.Contains(c.want, fmt.Sprint(i+1)); got != want {
					t.Errorf("it has request %d: %v, want %v", i+1, got, want)
				}
			}
		})
	}
}

func TestParseID(t *testing.T) {
	want := snapshots(1, 0)[0].ID()
	if got, err := lookup.ParseID(want.Trace.String(), want.Span.String()); err != nil || got != want {
		t.Errorf("got %v and %v, want %v", got, err, want)
	}
	for _, wrong := range [][2]string{{"", want.Span.String()}, {want.Trace.String(), "x"}} {
		if got, err := lookup.ParseID(wrong[0], wrong[1]); err == nil {
			t.Errorf("%q is the id %v, want an error", wrong, got)
		}
	}
}

// A recorder has the result of one request.
type recorder struct {
	waits.Recorder
	result *waits.Request
}

func (r recorder) Result(id trace.TraceID, root trace.SpanID) (*waits.Request, bool) {
	return r.result, id == r.result.TraceID && root == r.result.RootID
}

func TestWaits(t *testing.T) {
	s := snapshots(2, 0)
	stack := []waits.Frame{{Function: "hidden.g"}, {Function: "sync.(*Mutex).Lock"}, {Function: "app.f"}, {Function: "hidden.h"}}
	by := &waits.Party{Goroutine: 2, Function: "hidden.g", Stack: stack}
	r := recorder{result: &waits.Request{
		TraceID: s[0].TraceID, RootID: s[0].SpanID,
		Goroutines: []waits.Goroutine{{Function: "hidden.f", Intervals: []waits.Interval{{Stack: stack, By: by}, {Stack: stack, By: by}}}},
		Causes:     []waits.Cause{{Kind: waits.Mutex, Function: "hidden.g", By: by}, {Function: "app.f", Via: "hidden.(*conn).do", In: by}, {Function: "hidden.elsewhere"}},
	}}
	before := fmt.Sprintf("%#v", *by)
	w := lookup.NewWaits(r, func(function string) bool { return !strings.HasPrefix(function, "hidden.") })
	got := w.With(s[0]).Waits
	if got == nil || got.RootID != s[0].SpanID {
		t.Fatalf("the request has the result %+v", got)
	}
	text, err := json.Marshal(got)
	if err != nil || strings.Contains(string(text), "hidden.") {
		t.Errorf("the result has a hidden function: %s, error %v", text, err)
	}
	visible := []waits.Frame{{Function: "sync.(*Mutex).Lock"}, {Function: "app.f"}}
	first := got.Goroutines[0].Intervals[0]
	if !slices.Equal(first.Stack, visible) || first.By.Function != "app.f" || got.Causes[0].By != first.By || got.Causes[0].Function != "app.f" || got.Causes[1].Function != "app.f" || got.Causes[2].Function != "" || got.Causes[1].Via != "" || got.Causes[1].In != first.By {
		t.Errorf("the result is %s, want the visible functions in it", text)
	}
	if after := fmt.Sprintf("%#v", *by); after != before {
		t.Errorf("the recorder's own result has become %s", after)
	}
	if again, _ := w.Result(s[0].TraceID, s[0].SpanID); again != got {
		t.Error("the same result is made anew")
	}
	if got := w.With(s[1]).Waits; got != nil {
		t.Errorf("another request has the result %v, want none", got)
	}
	if got := lookup.NewWaits(nil, nil).With(s[0]).Waits; got != nil {
		t.Errorf("without a recorder, the request has the result %v, want none", got)
	}
}

// An explaining recorder has no results, and says why.
type explaining struct {
	waits.Recorder
	why   waiting.Reason
	asked []local.ID
	ended []time.Time
}

func (*explaining) Result(trace.TraceID, trace.SpanID) (*waits.Request, bool) { return nil, false }
func (*explaining) SetHeld(func([]local.ID) []bool)                           {}

func (e *explaining) Missing(id local.ID, end time.Time) waiting.Reason {
	e.asked, e.ended = append(e.asked, id), append(e.ended, end)
	return e.why
}

// A request without a result has a reason, whoever the recorder is.
func TestReasons(t *testing.T) {
	s, e := snapshots(1, 0)[0], &explaining{why: waiting.RateLimited}
	other := recorder{result: &waits.Request{}}
	for _, c := range []struct {
		recorder waits.Recorder
		want     waiting.Reason
	}{{nil, waiting.NoRecorder}, {other, waiting.Unknown}, {e, waiting.RateLimited}} {
		if got := lookup.NewWaits(c.recorder, nil).With(s); got.NoWaits != c.want {
			t.Errorf("%T: %q, want %q", c.recorder, got.NoWaits, c.want)
		}
	}
	if len(e.asked) != 1 || e.asked[0] != s.ID() || !e.ended[0].Equal(s.End) {
		t.Errorf("asked about %v at %v", e.asked, e.ended)
	}
	other.result.TraceID, other.result.RootID = s.TraceID, s.SpanID
	if got := lookup.NewWaits(other, func(string) bool { return true }).With(s); got.Waits == nil || got.NoWaits != "" {
		t.Errorf("with a result, the reason is %q", got.NoWaits)
	}
}

// A request inside another one is never slow by itself. The reason names the request that can have a cause, if that request is in memory.
func TestReasonOfAnInnerRequest(t *testing.T) {
	outer, call, inner := trace.SpanID{1}, trace.SpanID{2}, trace.SpanID{3}
	for _, c := range []struct {
		name      string
		whole     bool // the trace in memory
		class     local.Class
		why, want waiting.Reason
	}{
		{"inside a request", true, local.Inner, waiting.NotSlow, "the request is inside request 0100000000000000: see the causes of that request"},
		{"before the recorder was armed", true, local.Inner, waiting.NotArmed, "the request is inside request 0100000000000000: see the causes of that request"},
		{"inside a request that is gone", false, local.Inner, waiting.Forgotten, "the request is inside another request: see the causes of that request"},
		{"with a reason of its own", true, local.Inner, waiting.TooLarge, waiting.TooLarge},
		{"no recorder", true, local.Inner, "", waiting.NoRecorder},
		{"no inner request", true, local.Request, waiting.NotSlow, waiting.NotSlow},
	} {
		t.Run(c.name, func(t *testing.T) {
			recent := requests.NewRecent(requests.Config{})
			end := func(id, parent trace.SpanID, remote bool) {
				sc := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: id, TraceFlags: trace.FlagsSampled}
				above := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: parent, Remote: remote}
				recent.OnEnd(tracetest.SpanStub{Name: "x", SpanKind: trace.SpanKindServer, SpanContext: trace.NewSpanContext(sc), Parent: trace.NewSpanContext(above)}.Snapshot())
			}
			end(inner, call, true)
			if c.whole {
				end(call, outer, false)
				end(outer, trace.SpanID{}, false)
			}
			s, ok := recent.Snapshot(trace.TraceID{1}, inner)
			if !ok {
				t.Fatal("the inner request is not in memory")
			}
			s.Class = c.class // as perfline's provider knows it
			var r waits.Recorder
			if c.why != "" {
				r = &explaining{why: c.why}
			}
			if got := lookup.NewWaits(r, nil).With(s).NoWaits; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
