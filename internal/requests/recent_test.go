package requests_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
)

var base = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// span makes a span of kind server of trace t: ids are small numbers, 0 is no parent.
func span(t, id, parent int, name string, start, end time.Duration, change ...func(*tracetest.SpanStub)) sdktrace.ReadOnlySpan {
	sc := func(id int, remote bool) trace.SpanContext {
		if id == 0 {
			return trace.SpanContext{}
		}
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{byte(t >> 16), byte(t >> 8), byte(t), 1},
			SpanID: trace.SpanID{byte(id >> 8), byte(id), 1}, TraceFlags: trace.FlagsSampled, Remote: remote})
	}
	stub := tracetest.SpanStub{Name: name, SpanContext: sc(id, false), Parent: sc(parent, false), SpanKind: trace.SpanKindServer, StartTime: base.Add(start), EndTime: base.Add(end)}
	for _, c := range change {
		c(&stub)
	}
	return stub.Snapshot()
}

func remote(s *tracetest.SpanStub) { s.Parent = s.Parent.WithRemote(true) }

func event(name string, at time.Duration, kvs ...attribute.KeyValue) func(*tracetest.SpanStub) {
	return func(s *tracetest.SpanStub) {
		s.Events = append(s.Events, sdktrace.Event{Name: name, Time: base.Add(at), Attributes: kvs})
	}
}

func spanNames(q requests.Request) (out []string) {
	for _, s := range q.Spans {
		out = append(out, s.Name)
	}
	return out
}

const ms = time.Millisecond

func TestRecentInAnyOrder(t *testing.T) {
	spans := []sdktrace.ReadOnlySpan{
		span(1, 1, 99, "request", 0, 10*ms, remote),
		span(1, 2, 1, "a", 1*ms, 5*ms),
		span(1, 3, 2, "b", 2*ms, 3*ms),
		span(1, 4, 1, "c", 6*ms, 7*ms),
		span(1, 5, 77, "orphan", 8*ms, 9*ms),
	}
	for range 50 {
		rand.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		r := requests.NewRecent(requests.Config{})
		for _, s := range spans {
			r.OnEnd(s)
		}
		q := decoded(r.Requests())
		if len(q) != 1 || !slices.Equal(spanNames(q[0]), []string{"request", "a", "b", "c", "orphan"}) || q[0].Duration() != 10*ms {
			t.Fatalf("got %v", q)
		}
	}
}

func TestRecentRequestsOfOneTrace(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	r.OnEnd(span(1, 1, 0, "outer", 0, 10*ms))
	r.OnEnd(span(1, 2, 1, "call", 1*ms, 9*ms))
	r.OnEnd(span(1, 3, 2, "inner", 2*ms, 8*ms, remote)) // the service calls itself
	r.OnEnd(span(1, 4, 3, "work", 3*ms, 7*ms))
	q := decoded(r.Requests())
	if len(q) != 2 {
		t.Fatalf("%d requests, want 2", len(q))
	}
	if got := spanNames(q[0]); !slices.Equal(got, []string{"inner", "work"}) {
		t.Errorf("the inner request has %v", got)
	}
	if got := spanNames(q[1]); !slices.Equal(got, []string{"outer", "call", "inner", "work"}) {
		t.Errorf("the outer request has %v", got)
	}
}

// Callers choose the trace's id. The bounds hold for a caller that always sends the same one, too.
func TestRecentIsBoundedWithinATrace(t *testing.T) {
	c := requests.Config{Requests: 10, Slowest: 3, Examples: -1, MaxSpans: 5}
	r := requests.NewRecent(c)
	const n = 5000
	for i := range n {
		r.OnEnd(span(1, 2*i+2, 2*i+1, "child", 0, ms))
		r.OnEnd(span(1, 2*i+1, 60_000, fmt.Sprint(i), 0, ms, remote))
	}
	q := decoded(r.Requests())
	if n := len(q[0].Spans); n > c.MaxSpans+1 {
		t.Errorf("%d spans of the trace are kept, want %d at most, and the root", n, c.MaxSpans)
	}
	if len(q) != 10 || q[0].Root.Name != "4999" || q[9].Root.Name != "4990" || q[0].Dropped == 0 {
		t.Errorf("%d requests, the newest %q with %d spans dropped: want the last ten, and that spans are missing", len(q), q[0].Root.Name, q[0].Dropped)
	}
	if got := r.Stats(); got.Requests != n || got.Bytes > 32<<10 {
		t.Errorf("%d requests are counted and %d bytes held, want %d and some of 13 roots and 5 spans", got.Requests, got.Bytes, n)
	}
}

func TestRecentIsBounded(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: 10, Slowest: 3, Examples: -1, MaxSpans: 5, MaxPending: 20})
	const n = 5000
	for i := range n {
		for c := range 7 {
			r.OnEnd(span(i, 10+c, 1, "child", 0, ms))
		}
		r.OnEnd(span(i, 1, 0, fmt.Sprint(i), 0, time.Duration((i*7919)%n+1)*time.Microsecond))
		r.OnEnd(span(100_000+i, 2, 1, "never ends", 0, ms))
	}
	newest := decoded(r.Requests())
	if len(newest) != 10 || newest[0].Root.Name != "4999" || newest[9].Root.Name != "4990" {
		t.Errorf("%d requests, from %q to %q", len(newest), newest[0].Root.Name, newest[len(newest)-1].Root.Name)
	}
	if newest[0].Dropped != 2 || len(newest[0].Spans) != 6 {
		t.Errorf("%d spans kept and %d dropped, want 6 and 2", len(newest[0].Spans), newest[0].Dropped)
	}
	var slow []time.Duration
	for _, q := range decoded(r.Slowest()) {
		slow = append(slow, q.Duration())
	}
	if !slices.Equal(slow, []time.Duration{5000 * time.Microsecond, 4999 * time.Microsecond, 4998 * time.Microsecond}) {
		t.Errorf("slowest are %v", slow)
	}
	if s := r.Stats(); s.Requests != n || s.SpansDropped != 2*n || s.Late != n-20 || s.Abandoned != 0 || s.Evicted != 0 || s.Bytes > 64<<10 {
		t.Errorf("stats %+v", s)
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.OnEnd(span(1, 1, 0, "after", 0, ms))
	if r.Requests()[0].Name != "4999" {
		t.Error("after Shutdown it still collects")
	}
}

func TestRecentConcurrently(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 500 {
				r.OnEnd(span(w*1000+i, 2, 1, "child", 0, ms))
				r.OnEnd(span(w*1000+i, 1, 0, "root", 0, ms))
				if i%50 == 0 {
					for _, q := range decoded(r.Requests()) {
						_ = requests.WriteWaterfall(&bytes.Buffer{}, q, nil)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := len(r.Requests()); n != 64 {
		t.Errorf("%d requests, want 64", n)
	}
}

var update = flag.Bool("update", false, "rewrite golden files")

// compareGolden compares with a file of testdata.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWaterfall(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	failed := func(s *tracetest.SpanStub) { s.Status.Code = codes.Error }
	r.OnEnd(span(1, 1, 0, "GET /x/{id}", 0, 100*ms, event("begin", 0), event("after the end", 200*ms), func(s *tracetest.SpanStub) {
		s.Attributes = []attribute.KeyValue{attribute.Int("http.response.status_code", 500)}
	}, failed))
	r.OnEnd(span(1, 2, 1, "db", 10*ms, 60*ms, event("cache.miss", 20*ms, attribute.String("key", strings.Repeat("long ", 20)), attribute.Int("n", 1))))
	r.OnEnd(span(1, 3, 2, "row", 11*ms, 11*ms+1500*time.Nanosecond))
	r.OnEnd(span(1, 4, 1, "before and after its parent", -50*ms, 150*ms))
	r.OnEnd(span(1, 5, 1, "ends before it starts", 50*ms, 40*ms))
	r.OnEnd(span(1, 6, 42, "orphan", 70*ms, 71*ms))
	r.OnEnd(span(1, 7, 1, "escape \x1b[31mred\n\xff ☃", 80*ms, 90*ms))
	var got bytes.Buffer
	if err := requests.WriteWaterfall(&got, r.Requests()[0].Request(), nil); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "waterfall.txt", got.Bytes())

	const maxRows = 60 // in the comment of WriteWaterfall

	for i := range maxRows - 8 { // 7 spans and 3 marks are there
		r.OnEnd(span(1, 100+i, 1, fmt.Sprint("more ", i), 160*ms, 170*ms))
	}
	r.OnEnd(span(1, 99, 1, "last", 180*ms, 190*ms, event("first of two", 185*ms), event("second", 186*ms)))
	got.Reset()
	if err := requests.WriteWaterfall(&got, r.Requests()[0].Request(), nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(got.String(), "\n"); n != 2+maxRows+1 || !strings.Contains(got.String(), "… and 3 spans and 2 marks more") {
		t.Errorf("with more than %d rows:\n%s", maxRows, got.String())
	}
}

// A waterfall has no control characters and keeps its columns, whatever names and values are.
func FuzzWaterfall(f *testing.F) {
	for _, s := range []string{"plain", "\x1b]0;title\a", "\u202e", "\xff", "☃", "\u0085", strings.Repeat("☃", 100), "two\nlines"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := requests.NewRecent(requests.Config{})
		r.OnEnd(span(1, 1, 0, s, 0, ms, event(s, ms, attribute.String("key", s)), func(stub *tracetest.SpanStub) {
			stub.Attributes = []attribute.KeyValue{attribute.String("http.response.status_code", s)}
		}))
		all := r.Requests()
		if len(all) == 0 {
			return // longer than the bytes for one trace
		}
		var b bytes.Buffer
		if err := requests.WriteWaterfall(&b, all[0].Request(), nil); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) }) {
			t.Errorf("the waterfall of %q is %q", s, got)
		}
		lines := strings.Split(got, "\n")
		if len(lines) != 4 { // header, span, mark, and the end of the last one
			t.Fatalf("the waterfall of %q has %d lines, want 4:\n%s", s, len(lines), got)
		}
		if row := []rune(lines[1]); len(row) != 99 || row[31] != ' ' || row[32] != '█' {
			t.Errorf("the row of a span %q has %d columns:\n%s", s, len(row), lines[1])
		}
		if row := []rune(lines[2]); len(row) != 90 || row[80] != ' ' {
			t.Errorf("the row of a mark %q has %d columns:\n%s", s, len(row), lines[2])
		}
	})
}

// Snapshots are in the order of the lists of requests; a request is found by its ids for
// as long as it is in one of them.
func TestRecentSnapshots(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: 2, Slowest: 1, Examples: -1})
	r.OnEnd(span(1, 2, 1, "work", 1*ms, 5*ms))
	for i, took := range []time.Duration{50 * ms, 10 * ms, 20 * ms, 30 * ms} {
		r.OnEnd(span(i+1, 1, 0, fmt.Sprint("request ", i+1), 0, took))
	}
	names := func(list []requests.Snapshot) (out []string) {
		for _, s := range list {
			root := s.RootSpan()
			if root.TraceID != s.TraceID || root.SpanID != s.SpanID {
				t.Errorf("the root of %v is %v", s.SpanID, root.SpanID)
			}
			out = append(out, root.Name)
		}
		return out
	}
	newest, slowest := r.Requests(), r.Slowest()
	if got := names(newest); !slices.Equal(got, []string{"request 4", "request 3"}) {
		t.Errorf("newest are %q", got)
	}
	if got := names(slowest); !slices.Equal(got, []string{"request 1"}) {
		t.Errorf("slowest are %q", got)
	}
	for i, want := range []bool{true, false, true, true} {
		sc := span(i+1, 1, 0, "", 0, 0).SpanContext()
		if s, got := r.Snapshot(sc.TraceID(), sc.SpanID()); got != want || got && s.Request().Root.Name != fmt.Sprint("request ", i+1) {
			t.Errorf("request %d is found: %v, want %v: %v", i+1, got, want, s)
		}
	}
	if got := spanNames(slowest[0].Request()); !slices.Equal(got, []string{"request 1", "work"}) {
		t.Errorf("spans are %q", got)
	}
	if _, got := r.Snapshot(slowest[0].TraceID, trace.SpanID{9}); got {
		t.Error("found by the trace's id alone")
	}
}
