package requests_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
)

func client(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindClient }

func another(s *tracetest.SpanStub) { s.InstrumentationScope.Name = "another" }

// tree is the tree as a text: a dot for each level, and "?" behind a span with a missing parent. Equal rows are one row.
func tree(q requests.Request) (all []string) {
	for _, r := range requests.Rows(q) {
		row := strings.Repeat(".", r.Depth) + r.Span.Name
		if r.Orphan {
			row += "?"
		}
		if len(all) == 0 || all[len(all)-1] != row {
			all = append(all, row)
		}
	}
	return all
}

// Spans above the first spans end when the trace is full. They are in memory nevertheless, and the request and the request inside are whole
// trees. Each span is in memory or counts as missing.
func TestFullTraceHasTheParents(t *testing.T) {
	const leaves = 600
	long := strings.Repeat("x", 100)
	for name, c := range map[string]requests.Config{
		"spans": {},
		"bytes": {MaxSpans: 10_000, MaxBytes: 16 * 50 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			r := requests.NewRecent(c)
			for i := range leaves {
				r.OnEnd(span(1, 10+i, 4, "leaf", 4*ms, 5*ms, func(s *tracetest.SpanStub) { s.Attributes = []attribute.KeyValue{attribute.String("text", long)} }))
			}
			r.OnEnd(span(1, 4, 3, "work", 3*ms, 6*ms))
			r.OnEnd(span(1, 3, 2, "inner", 2*ms, 7*ms, remote))
			r.OnEnd(span(1, 2, 1, "call", 1*ms, 8*ms, client))
			r.OnEnd(span(1, 1, 0, "outer", 0, 9*ms))
			q := decoded(r.Requests())
			slices.Reverse(q) // the inner request first
			if got, want := tree(q[0]), []string{"inner", ".work", "..leaf"}; !slices.Equal(got, want) {
				t.Errorf("the inner request is %q, want %q", got, want)
			}
			if got, want := tree(q[1]), []string{"outer", ".call", "..inner", "...work", "....leaf"}; !slices.Equal(got, want) {
				t.Errorf("the outer request is %q, want %q", got, want)
			}
			if n, stats := q[1].Dropped, r.Stats(); n == 0 || len(q[1].Spans)+n != leaves+4 || stats.SpansDropped != uint64(n) {
				t.Errorf("%d spans and %d missing of %d, and %d count", len(q[1].Spans), n, leaves+4, stats.SpansDropped)
			}
		})
	}
}

// When the part for parents is full, the shortest leaves make room: the tree has no hole, and all its top.
func TestFullTraceHasTheTopOfTheTree(t *testing.T) {
	const most = 40
	for _, c := range []struct {
		name          string
		before        int // leaves of the batch before the checks
		checks, reads int // at once, with reads each
		want          []string
	}{
		{"leaves and their parents", 0, 100, 1, []string{"outer", ".call", "..inner", "...batch", "....check", ".....read"}},
		{"few parents", 3, 9, 4, []string{"outer", ".call", "..inner", "...batch", "....first", "....check", ".....read"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := requests.NewRecent(requests.Config{MaxSpans: most})
			var end []sdktrace.ReadOnlySpan
			n := 0
			leaf := func(parent int, name string) {
				n++
				end = append(end, span(1, 1000+n, parent, name, 4*ms, 5*ms))
			}
			for range c.before {
				leaf(4, "first")
			}
			for range c.reads {
				for i := range c.checks {
					leaf(10+i, "read")
				}
			}
			for i := range c.checks {
				end = append(end, span(1, 10+i, 4, "check", 4*ms, 6*ms))
			}
			end = append(end, span(1, 4, 3, "batch", 3*ms, 7*ms), span(1, 3, 2, "inner", 2*ms, 8*ms, remote),
				span(1, 2, 1, "call", ms, 9*ms, client), span(1, 1, 0, "outer", 0, 10*ms))
			for _, s := range end {
				r.OnEnd(s)
				r.Requests() // a reader has the spans before leaves make room
			}
			q := decoded(r.Requests())[0]
			levels := map[string]bool{}
			var got []string
			for _, row := range tree(q) {
				if !levels[row] {
					levels[row] = true
					got = append(got, row)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the levels are %q, want %q", got, c.want)
			}
			if len(q.Spans)+q.Dropped != len(end) || len(q.Spans) < most || len(q.Spans) > most+most/4 {
				t.Errorf("%d spans and %d missing, want %d together, and %d to %d in memory", len(q.Spans), q.Dropped, len(end), most, most+most/4)
			}
		})
	}
}

// Of the leaves, the shortest make room.
func TestShortestLeavesMakeRoom(t *testing.T) {
	r := requests.NewRecent(requests.Config{MaxSpans: 8})
	for i, took := range []int{4, 1, 7, 6, 8, 2, 5, 3} {
		r.OnEnd(span(1, 10+i, 2, fmt.Sprint("leaf of ", took), 5*ms, 5*ms+time.Duration(took)))
	}
	for i, name := range []string{"c", "b", "a"} {
		r.OnEnd(span(1, 2+i, 3+i, name, 4*ms, 20*ms))
	}
	r.OnEnd(span(1, 5, 0, "request", 0, 30*ms))
	q := decoded(r.Requests())[0]
	if got, want := tree(q), []string{"request", ".a", "..b", "...c", "....leaf of 4", "....leaf of 7", "....leaf of 6", "....leaf of 8", "....leaf of 5"}; !slices.Equal(got, want) || q.Dropped != 3 {
		t.Errorf("the tree is %q with %d missing, want %q with 3", got, q.Dropped, want)
	}
}

// A trace without leaves has no more places. An inner request without its call is below the request that was open, and roots without a place
// are missing in the other requests of the trace: no span is neither shown nor counted.
func TestTraceWithoutLeaves(t *testing.T) {
	const calls, most = 100, 41 // the last place is of an inner request without its call
	r := requests.NewRecent(requests.Config{MaxSpans: most, Requests: 2 * calls})
	for i := range calls {
		r.OnEnd(span(1, 1000+i, 2000+i, "inner", time.Duration(i)*ms, time.Duration(i+1)*ms, remote))
		r.OnEnd(span(1, 2000+i, 1, "call", time.Duration(i)*ms, time.Duration(i+1)*ms, client))
	}
	r.OnEnd(span(1, 1, 0, "outer", 0, 300*ms))
	var spans int
	for _, q := range decoded(r.Requests()) {
		if q.Root.Name != "outer" {
			spans++
			continue
		}
		if len(q.Spans)+q.Dropped != 2*calls+1 {
			t.Errorf("%d spans and %d missing of %d", len(q.Spans), q.Dropped, 2*calls+1)
		}
	}
	if spans != calls {
		t.Errorf("%d inner requests, want %d", spans, calls)
	}
}

// The texts say how many spans are missing, and which parents.
func TestWaterfallsSayWhatIsMissing(t *testing.T) {
	r := requests.NewRecent(requests.Config{MaxSpans: 4})
	for i := range 9 {
		r.OnEnd(span(1, 10+i, 99, "leaf", time.Duration(i)*ms, time.Duration(i+1)*ms))
	}
	r.OnEnd(span(1, 1, 0, "request", 0, 300*ms))
	q := decoded(r.Requests())[0]
	var text, picture bytes.Buffer
	if err := requests.WriteWaterfall(&text, q, nil); err != nil {
		t.Fatal(err)
	}
	if err := requests.WriteSVG(&picture, q); err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string]string{"text": text.String(), "picture": picture.String()} {
		if !strings.Contains(b, "5 spans of this trace were not kept") || !strings.Contains(b, "(parent missing)") {
			t.Errorf("the %s lacks the missing spans or parents:\n%s", what, b)
		}
	}
}

// A span with a missing parent is below the request that was open at the span's start: below the innermost one, and in one of two requests that
// another process sent.
func TestMissingParents(t *testing.T) {
	inTheInner := span(1, 20, 99, "lost", 3*ms, 4*ms)
	list := func(all ...sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan { return all }
	for _, c := range []struct {
		name  string
		spans []sdktrace.ReadOnlySpan
		want  [][]string // the trees, the newest request first
	}{
		{"in a request inside", list(inTheInner, span(1, 3, 2, "inner", 2*ms, 7*ms, remote), span(1, 2, 1, "call", ms, 8*ms, client), span(1, 1, 0, "outer", 0, 9*ms)),
			[][]string{{"inner", ".lost?"}, {"outer", ".call", "..inner", "...lost?"}}},
		{"before a request inside", list(inTheInner, span(1, 3, 2, "inner", 5*ms, 7*ms, remote), span(1, 2, 1, "call", ms, 8*ms, client), span(1, 1, 0, "outer", 0, 9*ms)),
			[][]string{{"inner"}, {"outer", ".call", "..inner", ".lost?"}}},
		{"one of two requests", list(inTheInner, span(1, 1, 98, "first", 0, 2*ms, remote), span(1, 2, 97, "second", 3*ms, 5*ms, remote)),
			[][]string{{"first"}, {"second", ".lost?"}}},
		{"after two requests", list(span(1, 1, 98, "first", 0, ms, remote), span(1, 2, 97, "second", ms, 2*ms, remote), inTheInner),
			[][]string{{"first"}, {"second", ".lost?"}}},
		{"before two requests", list(inTheInner, span(1, 1, 98, "first", 4*ms, 5*ms, remote), span(1, 2, 97, "second", 6*ms, 7*ms, remote)),
			[][]string{{"first", ".lost?"}, {"second"}}},
		{"with a request below", list(span(1, 3, 20, "inner", 3*ms, 4*ms, remote), inTheInner, span(1, 1, 0, "outer", 0, 9*ms)),
			[][]string{{"inner"}, {"outer", ".lost?", "..inner"}}},
		{"two instrumentations of a request", list(span(1, 3, 2, "child", 2*ms, 3*ms), span(1, 2, 98, "again", ms, 4*ms, remote, another), span(1, 1, 98, "request", 0, 5*ms, remote)),
			[][]string{{"again", ".child"}, {"request", ".again", "..child"}}},
		{"two requests of a caller", list(span(1, 3, 2, "child", 2*ms, 3*ms), span(1, 2, 98, "second", ms, 4*ms, remote), span(1, 1, 98, "first", 0, 5*ms, remote)),
			[][]string{{"second", ".child"}, {"first"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := requests.NewRecent(requests.Config{})
			for _, s := range c.spans {
				r.OnEnd(s)
			}
			var got [][]string
			for _, q := range decoded(r.Requests()) {
				got = append(got, tree(q))
			}
			slices.SortFunc(got, slices.Compare)
			slices.SortFunc(c.want, slices.Compare)
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
