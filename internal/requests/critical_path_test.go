package requests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
)

// A line is a span of a made-up request of 100 ms: its id, its parent's, and when it began and ended, in milliseconds.
// Ids from 50 are of measures.
type line struct{ id, parent, start, end int }

// madeUp returns a request with a root span 1 and other spans.
func madeUp(took int, lines ...line) requests.Request {
	r := requests.NewRecent(requests.Config{})
	r.OnEnd(span(1, 1, 0, "1", 0, time.Duration(took)*ms))
	q := r.Requests()[0].Request()
	r.OnEnd(span(2, 1, 0, "", 0, 0, ofMeasure))
	measured := r.Requests()[0].Request()
	for _, l := range lines {
		s := *q.Root
		if l.id >= 50 {
			s.Group = measured.Root.Group
		}
		s.SpanID, s.ParentID, s.Name = spanID(l.id), spanID(l.parent), fmt.Sprint(l.id)
		s.Start, s.End = base.Add(time.Duration(l.start)*ms), base.Add(time.Duration(l.end)*ms)
		q.Spans = append(q.Spans, &s)
	}
	slices.SortStableFunc(q.Spans[1:], func(a, b *otlpenc.Span) int { return a.Start.Compare(b.Start) })
	return q
}

func TestCriticalPath(t *testing.T) {
	for _, c := range []struct {
		name  string
		took  int
		lines []line
		want  string // the name of the span and its part in milliseconds, for each part
	}{
		{"alone", 100, nil, "1:0-100"},
		{"one after the other", 100, []line{{2, 1, 10, 30}, {3, 1, 40, 90}}, "1:0-10 2:10-30 1:30-40 3:40-90 1:90-100"},
		{"within each other", 100, []line{{2, 1, 10, 90}, {3, 2, 20, 80}}, "1:0-10 2:10-20 3:20-80 2:80-90 1:90-100"},
		{"at the same time: the one that ends last", 100, []line{{2, 1, 10, 80}, {3, 1, 10, 90}}, "1:0-10 3:10-90 1:90-100"},
		{"overlapping", 100, []line{{2, 1, 10, 60}, {3, 1, 40, 90}}, "1:0-10 2:10-40 3:40-90 1:90-100"},
		{"one that goes on after a later one began", 100, []line{{2, 1, 0, 70}, {3, 1, 20, 30}, {4, 1, 50, 100}}, "2:0-50 4:50-100"},
		{"children of a part that overlaps", 100, []line{{2, 1, 0, 70}, {3, 2, 10, 60}, {4, 1, 50, 100}}, "2:0-10 3:10-50 4:50-100"},
		{"an orphan", 100, []line{{2, 77, 10, 100}}, "1:0-10 2:10-100"},
		{"a child that ends after its parent, for which the request waits", 100, []line{{2, 1, 10, 50}, {3, 2, 20, 90}}, "1:0-10 2:10-20 3:20-90 1:90-100"},
		{"one that outlives the request", 100, []line{{2, 1, 10, 150}, {3, 2, 20, 40}}, "1:0-100"},
		{"one that begins before its parent", 100, []line{{2, 1, 50, 90}, {3, 2, 10, 80}}, "1:0-50 3:50-80 2:80-90 1:90-100"},
		{"without a duration", 100, []line{{2, 1, 50, 50}, {3, 2, 50, 50}, {4, 1, 60, 40}}, "1:0-100"},
		{"a child of a span without a duration", 100, []line{{2, 1, 50, 50}, {3, 2, 50, 70}}, "1:0-50 3:50-70 1:70-100"},
		{"a cycle", 100, []line{{2, 3, 10, 90}, {3, 2, 10, 90}, {4, 4, 10, 90}, {5, 1, 20, 30}}, "1:0-20 5:20-30 1:30-100"},
		{"an id twice", 100, []line{{1, 1, 10, 90}, {2, 1, 20, 30}, {2, 1, 25, 40}}, "1:0-10 1:10-20 2:20-25 2:25-40 1:40-90 1:90-100"},
		{"within a measure", 100, []line{{50, 1, 10, 90}, {2, 1, 20, 40}, {3, 1, 50, 95}}, "1:0-10 50:10-20 2:20-40 50:40-50 3:50-95 1:95-100"},
		{"within measures", 100, []line{{50, 1, 10, 90}, {51, 1, 20, 80}, {2, 1, 30, 40}, {52, 1, 20, 80}}, "1:0-10 50:10-20 51:20-30 2:30-40 51:40-80 50:80-90 1:90-100"},
		{"a request without a duration", 0, []line{{2, 1, 0, 50}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range requests.CriticalPath(madeUp(c.took, c.lines...)) {
				got = append(got, fmt.Sprintf("%s:%d-%d", p.Span.Name, p.Start/ms, p.End/ms))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

// Whatever spans there are, the path covers the request exactly once, in order, and each part is within its span. At no moment does a child
// run that the span of the path can have waited for.
func TestCriticalPathCoversTheRequest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 14).Draw(rt, "spans")
		var lines []line
		for id := 2; id < n+2; id++ {
			start := rapid.IntRange(-20, 120).Draw(rt, "start")
			number := id
			if rapid.IntRange(0, 3).Draw(rt, "kind") == 0 {
				number += 50 // a measure
			}
			lines = append(lines, line{number, rapid.IntRange(1, n+3).Draw(rt, "parent"), start, start + rapid.IntRange(-5, 80).Draw(rt, "length")})
		}
		q := madeUp(rapid.IntRange(0, 100).Draw(rt, "took"), lines...)
		path := requests.CriticalPath(q)
		at := time.Duration(0)
		for i, p := range path {
			if p.Start != at || p.End <= p.Start || i > 0 && path[i-1].Span == p.Span {
				rt.Fatalf("part %d is %s from %v to %v, after %v", i, p.Span.Name, p.Start, p.End, at)
			}
			at = p.End
			if p.Start < p.Span.Start.Sub(q.Root.Start) || p.End > p.Span.End.Sub(q.Root.Start) {
				rt.Errorf("%s is on the path from %v to %v, outside of it", p.Span.Name, p.Start, p.End)
			}
			for _, s := range q.Spans[1:] {
				from, to := max(p.Start, s.Start.Sub(q.Root.Start)), min(p.End, s.End.Sub(q.Root.Start))
				if s.ParentID == p.Span.SpanID && s.SpanID != p.Span.SpanID && from < to && !s.End.After(p.Span.End) && reached(q, s) {
					rt.Errorf("from %v to %v, %s is on the path, and not its child %s", from, to, p.Span.Name, s.Name)
				}
			}
		}
		if at != q.Duration() {
			rt.Errorf("the path ends at %v of %v", at, q.Duration())
		}
	})
}

// reached reports whether a span has a row.
func reached(q requests.Request, s *otlpenc.Span) bool {
	return slices.ContainsFunc(requests.Rows(q), func(r requests.Row) bool { return r.Span == s })
}

// Equal names share their time.
func TestPathShares(t *testing.T) {
	q := madeUp(100, line{2, 1, 10, 30}, line{3, 1, 40, 80}, line{4, 1, 90, 100})
	for _, s := range q.Spans[1:] {
		s.Name = "query"
	}
	q.Spans[3].Kind = trace.SpanKindClient
	q.Spans[3].Name = "GET"
	var got []string
	for _, s := range requests.PathShares(requests.CriticalPath(q)) {
		got = append(got, fmt.Sprintf("%s × %d %v, longest %v", s.Name, s.Spans, s.Time, s.Longest.Duration()))
	}
	want := []string{"query × 2 60ms, longest 40ms", "1 × 1 30ms, longest 100ms", "GET × 1 10ms, longest 10ms"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
