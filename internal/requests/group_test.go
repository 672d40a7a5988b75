package requests_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// grouped is a request with four equal queries, of which one failed and one has a span and marks below it, and with two equal renderings.
func grouped(t *testing.T) requests.Request {
	t.Helper()
	r := requests.NewRecent(requests.Config{})
	failed := func(s *tracetest.SpanStub) { s.Status.Code = codes.Error }
	r.OnEnd(span(1, 2, 1, "sql.conn.query", 10*ms, 20*ms))
	r.OnEnd(span(1, 3, 1, "sql.conn.query", 22*ms, 24*ms, failed))
	r.OnEnd(span(1, 4, 1, "render", 24*ms, 30*ms))
	r.OnEnd(span(1, 5, 1, "sql.conn.query", 30*ms, 42*ms, event("retry", 31*ms), event("retry", 32*ms)))
	r.OnEnd(span(1, 6, 5, "connect", 33*ms, 40*ms, event("dial", 34*ms)))
	r.OnEnd(span(1, 7, 1, "render", 42*ms, 50*ms))
	r.OnEnd(span(1, 8, 1, "sql.conn.query", 60*ms, 61*ms))
	r.OnEnd(span(1, 9, 4, "sql.conn.query", 25*ms, 26*ms)) // below another span
	r.OnEnd(span(1, 1, 0, "GET /x", 0, 100*ms))
	return r.Requests()[0].Request()
}

func TestGroups(t *testing.T) {
	q := grouped(t)
	rows := requests.Rows(q)
	groups := requests.Groups(rows)
	if len(groups) != 1 {
		t.Fatalf("got %+v, want one group", groups)
	}
	g := groups[0]
	var names []string
	for _, i := range g.Rows {
		names = append(names, fmt.Sprint(rows[i].Span.Name, " ", rows[i].Span.Start.Sub(base)))
	}
	if got, want := strings.Join(names, ", "), "sql.conn.query 10ms, sql.conn.query 22ms, sql.conn.query 30ms, sql.conn.query 60ms"; got != want {
		t.Errorf("rows are %s\nwant %s", got, want)
	}
	if g.Total != 25*ms || g.Failed != 1 || g.Below != 1 || rows[g.Slowest].Span.SpanID != spanID(5) {
		t.Errorf("got %+v, want 25 ms in all, one that failed, one below, and the third as the slowest", g)
	}
	if two := requests.Groups(rows[:3]); len(two) != 0 {
		t.Errorf("two equal rows are a group: %+v", two)
	}
}

func TestWaterfallWithGroups(t *testing.T) {
	var got bytes.Buffer
	if err := requests.WriteWaterfall(&got, grouped(t), nil); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "waterfall_groups.txt", got.Bytes())
}

// A span whose id is also the id of a grouped one has its own row.
func TestWaterfallWithAnIDTwice(t *testing.T) {
	q := madeUp(100, line{2, 1, 10, 20}, line{3, 1, 20, 30}, line{4, 1, 30, 40}, line{2, 1, 50, 60})
	for _, s := range q.Spans[1:4] {
		s.Name = "query"
	}
	q.Spans[4].Name = "twice"
	var got bytes.Buffer
	if err := requests.WriteWaterfall(&got, q, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.String(), "query × 3") || !strings.Contains(got.String(), "\n  twice") {
		t.Errorf("got\n%s\nwant three queries in one row, and the other span", got.String())
	}
}

// The waits and the functions of grouped rows are summed up.
func TestWaterfallSumsUpGroups(t *testing.T) {
	q, tr := sampled(t)
	for _, s := range q.Spans[1:] {
		s.Name, s.Group = "work", q.Spans[1].Group
	}
	var got bytes.Buffer
	if err := requests.WriteWaterfall(&got, q, tr); err != nil {
		t.Fatal(err)
	}
	if want := "  ▸ db.(*Conn).Query (waits) 50 %, json.Marshal 50 % "; !strings.Contains(got.String(), want) || strings.Count(got.String(), "▸") != 2 {
		t.Errorf("got\n%s\nwant %q", got.String(), want)
	}

	q = waited(t)
	for _, s := range q.Spans[1:] {
		s.Name, s.ParentID, s.Kind, s.Group = "work", q.Root.SpanID, q.Root.Kind, q.Root.Group
	}
	for g := range q.Waits.Goroutines {
		for i := range q.Waits.Goroutines[g].Intervals {
			if interval := &q.Waits.Goroutines[g].Intervals[i]; interval.SpanID != q.Root.SpanID {
				interval.By = nil
				if len(interval.Stack) > 0 {
					interval.Stack[1].Function = "example.com/app.work"
				}
				if waiting.ClassOf(interval.Kind) != waiting.ClassRunning {
					interval.Kind = waits.Mutex
				}
			}
		}
	}
	got.Reset()
	if err := requests.WriteWaterfall(&got, q, nil); err != nil {
		t.Fatal(err)
	}
	if want := "  ░ mutex × 7 in app.work "; !strings.Contains(got.String(), want) {
		t.Errorf("got\n%s\nwant %q", got.String(), want)
	}
}

// Whatever spans there are, a row is in one group at most, the rows of a group are equal, and equal rows are in one.
func TestGroupsAreOfEqualRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(rt, "spans")
		var lines []line
		for id := 2; id < n+2; id++ {
			start := rapid.IntRange(0, 90).Draw(rt, "start")
			lines = append(lines, line{id, rapid.IntRange(1, n+3).Draw(rt, "parent"), start, start + 5})
		}
		q := madeUp(100, lines...)
		for _, s := range q.Spans[1:] {
			s.Name = rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "name")
		}
		rows := requests.Rows(q)
		parents := make([]int, len(rows))
		var above []int
		for i, r := range rows {
			above = append(above[:r.Depth], i)
			if r.Depth > 0 {
				parents[i] = above[r.Depth-1]
			}
		}
		equal := func(i, j int) bool {
			return parents[i] == parents[j] && rows[i].Name() == rows[j].Name() && rows[i].Orphan == rows[j].Orphan
		}
		var in []int
		for _, g := range requests.Groups(rows) {
			if len(g.Rows) < 3 || !slices.IsSorted(g.Rows) {
				rt.Errorf("rows of a group are %v", g.Rows)
			}
			for i := 1; i < len(rows); i++ {
				if equal(i, g.Rows[0]) != slices.Contains(g.Rows, i) {
					rt.Errorf("row %d is as equal to row %d as it is in its group: %v", i, g.Rows[0], g.Rows)
				}
			}
			in = append(in, g.Rows...)
		}
		for i := 1; i < len(rows); i++ {
			same := 0
			for j := 1; j < len(rows); j++ {
				if equal(i, j) {
					same++
				}
			}
			if (same >= 3) != slices.Contains(in, i) {
				rt.Errorf("row %d equals %d rows; groups have %v", i, same, in)
			}
		}
	})
}
