package requests_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/waits"
)

// only returns the request of some spans.
func only(tb testing.TB, spans ...sdktrace.ReadOnlySpan) requests.Request {
	tb.Helper()
	r := requests.NewRecent(requests.Config{MaxSpans: 5000})
	for _, s := range spans {
		r.OnEnd(s)
	}
	all := r.Requests()
	if len(all) != 1 {
		tb.Fatalf("%d requests, want 1", len(all))
	}
	return all[0].Request()
}

// slowAndUsual are requests of one route. The slow one queries eleven times instead of once, and reads no cache.
func slowAndUsual(tb testing.TB) (slow, usual requests.Part) {
	tb.Helper()
	spans := []sdktrace.ReadOnlySpan{span(1, 1, 0, "GET /products/{id}", 0, 21*ms), span(1, 2, 1, "load", 1*ms, 19*ms)}
	for i := range 11 {
		at := 2*ms + time.Duration(i)*1500*time.Microsecond
		spans = append(spans, span(1, 3+i, 2, "sql.conn.query", at, at+900*time.Microsecond))
	}
	slow.Request = only(tb, spans...)
	usual.Request = only(tb, span(2, 1, 0, "GET /products/{id}", 0, 9*ms), span(2, 2, 1, "cache.get", 500*time.Microsecond, 1*ms),
		span(2, 3, 1, "load", 1*ms, 8*ms), span(2, 4, 3, "sql.conn.query", 2*ms, 2800*time.Microsecond))
	return slow, usual
}

// withCauses gives a request an execution trace with these causes.
func withCauses(q requests.Request, causes ...waits.Cause) requests.Request {
	q.Waits = &waits.Request{TraceID: q.TraceID(), RootID: q.Root.SpanID, Duration: q.Duration(), Causes: causes}
	return q
}

// profileOf returns a trace of the request's root in functions, with 1 ms for each.
func profileOf(q requests.Request, functions ...string) *profile.Trace {
	t := &profile.Trace{Origin: q.Root.Start, Engine: profile.EngineCPU, Contexts: []profile.SampleContext{{TraceID: q.TraceID(), SpanID: q.Root.SpanID}}}
	for i, f := range functions {
		t.Frames = append(t.Frames, profile.Frame{Name: f, ResourceID: profile.None, Line: 7})
		t.Stacks = append(t.Stacks, profile.Stack{FrameID: i, ParentID: profile.None})
		t.Samples = append(t.Samples, profile.Sample{Timestamp: time.Duration(i) * ms, StackID: i, Count: 1, Weight: ms})
	}
	return t
}

func TestCompare(t *testing.T) {
	slow, usual := slowAndUsual(t)
	slow.Request = withCauses(slow.Request, waits.Cause{Kind: waits.Network, Duration: 12 * ms}, waits.Cause{Kind: waits.OnCPU, Duration: 6 * ms}, waits.Cause{Kind: waits.Network, Duration: 3 * ms})
	usual.Request = withCauses(usual.Request, waits.Cause{Kind: waits.OnCPU, Duration: 5 * ms}, waits.Cause{Kind: waits.Mutex, Duration: 4 * ms})
	slow.Profile = profileOf(slow.Request, "shop/store.(*DB).scan", "shop/store.(*DB).scan", "encoding/json.Marshal")
	usual.Profile = profileOf(usual.Request, "encoding/json.Marshal")
	c := requests.Compare(slow, usual)
	if got, want := c.Sentence(), "9.1 ms of the 12 ms more were in sql.conn.query (11 instead of 1); 1.9 ms were in load"; got != want {
		t.Errorf("the sentence is %q, want %q", got, want)
	}
	var b bytes.Buffer
	for _, d := range c.Spans {
		fmt.Fprintf(&b, "%+v\n", d)
	}
	fmt.Fprintf(&b, "%t %t %+v\n%d %d %+v\n", c.SlowWaits, c.UsualWaits, c.Waits, c.SlowSamples, c.UsualSamples, c.Functions)
	compareGolden(t, "compare.txt", b.Bytes())

	var places []string
	for i, row := range requests.Rows(slow.Request) {
		at := slices.IndexFunc(c.Spans, func(d requests.SpanDifference) bool { return d.Place == c.SlowPlaces[i] })
		places = append(places, fmt.Sprint(row.Name() == c.Spans[at].Name && row.Depth == c.Spans[at].Depth))
	}
	if len(places) != 13 || slices.Contains(places, "false") {
		t.Errorf("rows of the slow request have places of other names: %v", places)
	}
}

func TestCompareSentences(t *testing.T) {
	root := func(name string, took time.Duration, below ...sdktrace.ReadOnlySpan) requests.Part {
		return requests.Part{Request: only(t, append([]sdktrace.ReadOnlySpan{span(1, 1, 0, name, 0, took)}, below...)...)}
	}
	query := func(id int, start, end time.Duration) sdktrace.ReadOnlySpan {
		return span(1, id, 1, "query", start, end)
	}
	for _, c := range []struct {
		name        string
		slow, usual requests.Part
		want        string
	}{
		{"as long", root("GET /", 1000*ms), root("GET /", 1005*ms), "both took about 1.0 s"},
		{"nothing", root("GET /", 0), root("GET /", 0), "both took about 0 µs"},
		{"no span", root("GET /", 20*ms), root("GET /", 10*ms), "10 ms of the 10 ms more were in GET / itself, in no span below it"},
		{"only in the slow one", root("GET /", 20*ms, query(2, 2*ms, 12*ms)), root("GET /", 10*ms), "10 ms of the 10 ms more were in query (1 instead of none)"},
		{"only in the usual one", root("GET /", 10*ms), root("GET /", 20*ms, query(2, 2*ms, 12*ms)), "10 ms of the 10 ms less were in query (none instead of 1)"},
		{"the same number", root("GET /", 20*ms, query(2, 0, 19*ms)), root("GET /", 10*ms, query(2, 0, 9*ms)), "10 ms of the 10 ms more were in query"},
		{"a little more than all", root("GET /", 20*ms, query(2, 0, 20*ms)), root("GET /", 10*ms, query(2, 0, 9500*time.Microsecond)), "10 ms of the 10 ms more were in query"},
		{"more than all", root("GET /", 20*ms, query(2, 0, 20*ms)), root("GET /", 10*ms, query(2, 0, 2*ms)), "10 ms more in all: 18 ms more in query, the opposite elsewhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			comparison := requests.Compare(c.slow, c.usual)
			if got := comparison.Sentence(); got != c.want {
				t.Errorf("the sentence is %q, want %q", got, c.want)
			}
		})
	}
}

// Functions of samples by CPU time and by wall-clock time are not compared. A side without samples is no reason not to show the other.
func TestCompareProfiles(t *testing.T) {
	slow, usual := slowAndUsual(t)
	slow.Profile, usual.Profile = profileOf(slow.Request, "a"), profileOf(usual.Request, "a")
	usual.Profile.Engine = profile.EngineWall
	if c := requests.Compare(slow, usual); !c.OtherEngine || len(c.Functions) > 0 {
		t.Errorf("functions are %+v, want none of two engines", c.Functions)
	}
	usual.Profile = nil
	if c := requests.Compare(slow, usual); c.OtherEngine || len(c.Functions) != 1 || c.SlowSamples != 1 || c.UsualSamples != 0 || c.Functions[0].Took() != ms {
		t.Errorf("functions are %+v, %d and %d samples; want the slow request's", c.Functions, c.SlowSamples, c.UsualSamples)
	}
}

// compared are two requests of any spans.
func compared(t *rapid.T, tb testing.TB, spans func(t *rapid.T, n int) []sdktrace.ReadOnlySpan) (a, b requests.Part) {
	t.Helper()
	a.Request, b.Request = only(tb, spans(t, 1)...), only(tb, spans(t, 2)...)
	return a, b
}

var someNames = rapid.SampledFrom([]string{"a", "b", "query", "\x00\u202e"})

// nestedSpans are spans one after the other, within their parents.
func nestedSpans(t *rapid.T, n int) []sdktrace.ReadOnlySpan {
	id := 0
	var all []sdktrace.ReadOnlySpan
	var add func(parent int, start, end time.Duration, depth int)
	add = func(parent int, start, end time.Duration, depth int) {
		id++
		self := id
		all = append(all, span(n, self, parent, someNames.Draw(t, "name"), start, end))
		for at := start; depth < 3 && at < end && id < 60 && rapid.Bool().Draw(t, "child"); {
			from := at + time.Duration(rapid.Int64Range(0, int64(end-at)).Draw(t, "gap"))
			to := from + time.Duration(rapid.Int64Range(0, int64(end-from)).Draw(t, "length"))
			add(self, from, to, depth+1)
			at = to + 1
		}
	}
	add(0, 0, time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "took")), 0)
	return all
}

// anySpans are spans at any times, with any parents.
func anySpans(t *rapid.T, n int) []sdktrace.ReadOnlySpan {
	all := []sdktrace.ReadOnlySpan{span(n, 1, 0, "root", 0, time.Duration(rapid.Int64Range(0, 100).Draw(t, "took")))}
	for i := range rapid.IntRange(0, 20).Draw(t, "spans") {
		start := time.Duration(rapid.Int64Range(-20, 120).Draw(t, "start"))
		all = append(all, span(n, i+2, rapid.IntRange(1, i+2).Draw(t, "parent"), someNames.Draw(t, "name"), start, start+time.Duration(rapid.Int64Range(-5, 60).Draw(t, "length"))))
	}
	return all
}

// The times on the critical path add up to the duration, and their differences to the difference of the durations. The other way around,
// all differences have the opposite sign.
func TestCompareAddsUp(t *testing.T) {
	for name, spans := range map[string]func(*rapid.T, int) []sdktrace.ReadOnlySpan{"one after the other": nestedSpans, "any": anySpans} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				a, b := compared(r, t, spans)
				there, back := requests.Compare(a, b), requests.Compare(b, a)
				var slow, usual, difference time.Duration
				byPath := map[string]time.Duration{}
				for i, d := range there.Spans {
					slow, usual, difference = slow+d.Slow.Critical, usual+d.Usual.Critical, difference+d.Critical()
					byPath[path(there, d)] = d.Critical()
					if i > 0 && there.Spans[i-1].Critical().Abs() < d.Critical().Abs() {
						r.Errorf("%+v comes after a smaller difference", d)
					}
					if d.Slow.Critical < 0 || d.Usual.Critical < 0 || d.Slow.Count == 0 && d.Slow != (requests.SpanSum{}) || d.Usual.Count == 0 && d.Usual != (requests.SpanSum{}) {
						r.Errorf("a side has times without spans: %+v", d)
					}
				}
				for _, sum := range [][2]time.Duration{{slow, a.Request.Duration()}, {usual, b.Request.Duration()}, {difference, there.Took()}} {
					if sum[0] != sum[1] {
						r.Errorf("times on the critical path add up to %d ns, want %d", sum[0], sum[1])
					}
				}
				if len(back.Spans) != len(there.Spans) || back.Took() != -there.Took() {
					r.Errorf("%d spans and %v, the other way around %d and %v", len(there.Spans), there.Took(), len(back.Spans), back.Took())
				}
				for _, d := range back.Spans {
					if byPath[path(back, d)] != -d.Critical() {
						r.Errorf("%s: %v, the other way around %v", path(back, d), byPath[path(back, d)], d.Critical())
					}
				}
				if sentence := there.Sentence(); sentence == "" || !utf8.ValidString(sentence) || utf8.RuneCountInString(sentence) > 300 {
					r.Errorf("the sentence is %q", sentence)
				}
			})
		})
	}
}

// path returns the names from the root's children on.
func path(c requests.Comparison, d requests.SpanDifference) string {
	if d.Parent < 0 {
		return ""
	}
	parent := slices.IndexFunc(c.Spans, func(p requests.SpanDifference) bool { return p.Place == d.Parent })
	return path(c, c.Spans[parent]) + "/" + d.Name
}

// Of spans at the same time, one is on the critical path. A span that outlives its parent can be, too.
func TestCompareParallel(t *testing.T) {
	a := requests.Part{Request: only(t, span(1, 1, 0, "GET /", 0, 100*ms), span(1, 2, 1, "left", 0, 60*ms), span(1, 3, 1, "right", 20*ms, 60*ms),
		span(1, 4, 2, "inner", 50*ms, 80*ms))} // until after left
	b := requests.Part{Request: only(t, span(2, 1, 0, "GET /", 0, 0))}
	got := map[string]time.Duration{}
	c := requests.Compare(a, b)
	for _, d := range c.Spans {
		got[d.Name] = d.Critical()
	}
	want := map[string]time.Duration{"GET /": 20 * ms, "left": 50 * ms, "right": 0, "inner": 30 * ms}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the times on the critical path are %v, want %v", got, want)
	}
}

func TestUsual(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	failed := func(s *tracetest.SpanStub) { s.Status.Code = codes.Error }
	for i, s := range []struct {
		name   string
		took   time.Duration
		change []func(*tracetest.SpanStub)
	}{
		{"GET /a", 10 * ms, nil}, {"GET /a", 30 * ms, nil}, {"GET /a", 20 * ms, nil}, {"GET /a", 24 * ms, []func(*tracetest.SpanStub){failed}}, {"GET /b", 25 * ms, nil},
	} {
		r.OnEnd(span(i+1, i+1, 0, s.name, 0, s.took, s.change...))
	}
	for _, c := range []struct {
		name, route string
		took        time.Duration
		except      int           // the number of a root span; 0 is none
		want        time.Duration // 0 is none
	}{
		{"the nearest", "GET /a", 26 * ms, 0, 30 * ms},
		{"the nearest below", "GET /a", 24 * ms, 0, 20 * ms},
		{"the median", "GET /a", 0, 0, 20 * ms},
		{"another than the median", "GET /a", 0, 3, 10 * ms},
		{"another than the nearest", "GET /a", 31 * ms, 2, 20 * ms},
		{"none left", "GET /b", 0, 5, 0},
		{"another route", "GET /c", 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got time.Duration
			var except trace.SpanID
			if c.except > 0 {
				except = spanID(c.except)
			}
			s, ok := requests.Usual(r.All(), c.route, c.took, except)
			if ok {
				root := s.RootSpan()
				got = root.Duration()
			}
			if got != c.want || ok != (c.want > 0) {
				t.Errorf("got one of %v (%t), want %v", got, ok, c.want)
			}
		})
	}
}

// A request that only the examples of the heat maps have is found, and one of several lists comes once.
func TestOfRoute(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests int // of the newest list
	}{{"of several lists", 8}, {"only examples", -1}} {
		t.Run(c.name, func(t *testing.T) {
			r := requests.NewRecent(requests.Config{Requests: c.requests, Slowest: c.requests, Examples: 8})
			for i, took := range []time.Duration{10 * ms, 80 * ms} {
				r.OnEnd(span(i+1, i+1, 0, "GET /a", 0, took))
			}
			if got := requests.OfRoute(r.All(), "GET /a"); len(got) != 2 || got[0].SpanID != spanID(2) || got[1].SpanID != spanID(1) {
				t.Errorf("got %d requests, want 2, the newest first", len(got))
			}
		})
	}
}
