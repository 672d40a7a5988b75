package requests_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/waits"
)

func spanID(id int) trace.SpanID { return span(1, id, 0, "", 0, 0).SpanContext().SpanID() }

// did is an interval of a goroutine that worked for a span.
func did(kind waits.Kind, start, end time.Duration, id int, function string, by *waits.Party) waits.Interval {
	i := waits.Interval{Kind: kind, Start: start, End: end, SpanID: spanID(id), By: by}
	if function != "" {
		i.Stack = []waits.Frame{{Function: "sync.(*Mutex).Lock"}, {Function: function, File: "/src/app.go", Line: 7}, {Function: "net/http.(*conn).serve"}}
	}
	return i
}

// waited is a request with what its goroutines did: one lookup waits for a mutex of another request and for a connection; a goroutine
// fetches something at the same time.
func waited(t *testing.T) requests.Request {
	t.Helper()
	r := requests.NewRecent(requests.Config{})
	r.OnEnd(span(1, 2, 1, "lookup", 10*ms, 60*ms, event("cache.miss", 12*ms)))
	r.OnEnd(span(1, 3, 2, "parse", 62*ms, 63*ms)) // outlives its parent
	r.OnEnd(span(1, 4, 1, "fetch", 20*ms, 80*ms, func(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindClient }))
	r.OnEnd(span(1, 5, 2, "render", 82*ms, 98*ms, ofMeasure)) // by the context of a span that has ended
	r.OnEnd(span(1, 6, 1, "untraced", 85*ms, 95*ms))
	r.OnEnd(span(1, 1, 0, "GET /search", 0, 100*ms))
	q := r.Requests()[0].Request()
	rebuild := &waits.Party{Goroutine: 99, Function: "example.com/app.(*Index).rebuild", Request: "POST /\x1bindex", TraceID: trace.TraceID{9}, RootID: trace.SpanID{9}}
	own := &waits.Party{Goroutine: 8, Function: "example.com/app.fetch", Request: "GET /search", TraceID: q.TraceID(), RootID: q.Root.SpanID}
	q.Waits = &waits.Request{
		TraceID: q.TraceID(), RootID: q.Root.SpanID, Name: "GET /search", Start: base, Duration: 100 * ms,
		Goroutines: []waits.Goroutine{
			{ID: 7, Function: "net/http.(*conn).serve", Intervals: []waits.Interval{
				did(waits.Gap, 0, 4*ms, 1, "", nil),
				did(waits.OnCPU, 4*ms, 10*ms, 1, "", nil),
				did(waits.Mutex, 10*ms, 40*ms, 2, "example.com/app.(*Index).Search", rebuild),
				did(waits.Runnable, 40*ms, 44*ms, 2, "example.com/app.(*Index).Search", rebuild),
				did(waits.Pool, 44*ms, 48*ms, 2, "example.com/db.Query", &waits.Party{Goroutine: 12}),
				did(waits.Pool, 48*ms, 50*ms, 2, "example.com/db.Query", &waits.Party{Goroutine: 13}),
				did(waits.Syscall, 50*ms, 55*ms, 2, "example.com/db.open", nil),
				did(waits.GCAssist, 55*ms, 60*ms, 2, "example.com/app.grow", nil),
				did(waits.ChannelReceive, 60*ms, 82*ms, 1, "example.com/app.handle", own),
				did(waits.OnCPU, 82*ms, 84*ms, 1, "", nil),
				did(waits.Timer, 84*ms, 96*ms, 1, "example.com/app.render", nil),
				did(waits.OnCPU, 96*ms, 100*ms, 1, "", nil),
			}},
			{ID: 8, Function: "example.com/app.fetch", Intervals: []waits.Interval{
				did(waits.OnCPU, 20*ms, 21*ms, 4, "", nil),
				did(waits.Network, 21*ms, 79*ms, 4, "example.com/app.fetch", nil),
				did(waits.OnCPU, 79*ms, 80*ms, 4, "", nil),
			}},
		},
		Causes: []waits.Cause{{Kind: waits.Mutex, Duration: 30 * ms, Function: "example.com/app.(*Index).Search", By: rebuild}},
	}
	return q
}

func TestWaterfallWithStates(t *testing.T) {
	q := waited(t)
	var got bytes.Buffer
	if err := requests.WriteWaterfall(&got, q, nil); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "waterfall_states.txt", got.Bytes())
}

// Without waits, both pictures say why, unless the request was not slow. Waits without their details say that, too.
func TestReasonsInPictures(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*requests.Request)
		want   string // in both pictures
	}{
		{"reason", func(q *requests.Request) { q.Waits, q.NoWaits = nil, waiting.LessSlow }, "cause unknown: " + string(waiting.LessSlow)},
		{"not slow", func(q *requests.Request) { q.Waits, q.NoWaits = nil, waiting.NotSlow }, ""},
		{"no reason", func(q *requests.Request) { q.Waits = nil }, ""},
		{"causes alone", func(q *requests.Request) { q.Waits.Goroutines, q.Waits.Omitted = nil, 2 }, "too large: the details were dropped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := waited(t)
			c.change(&q)
			var text, picture bytes.Buffer
			if err := errors.Join(requests.WriteWaterfall(&text, q, nil), requests.WriteSVG(&picture, q)); err != nil {
				t.Fatal(err)
			}
			for _, got := range []string{text.String(), picture.String()} {
				if says := strings.Contains(got, "cause unknown") || strings.Contains(got, "too large"); says != (c.want != "") || !strings.Contains(got, c.want) {
					t.Errorf("got\n%s\nwant %q", got, c.want)
				}
				if q.Waits != nil && !strings.Contains(got, "the execution trace covers 30 ms") {
					t.Errorf("got\n%s\nwant the sentence", got)
				}
			}
		})
	}
}

func TestSVGWithStates(t *testing.T) {
	q := waited(t)
	var got bytes.Buffer
	if err := requests.WriteSVG(&got, q); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "waits.svg", got.Bytes())
}

// Rows of waits are within the 60 rows, and those without room are counted.
func TestWaterfallCountsWaits(t *testing.T) {
	q := waited(t)
	for i := range 57 { // with the root, its wait and the next span, these are 60 rows
		q.Root.Events = append(q.Root.Events, q.Spans[1].Events...)
		q.Root.Events[i].Time = base
	}
	var got bytes.Buffer
	if err := requests.WriteWaterfall(&got, q, nil); err != nil {
		t.Fatal(err)
	}
	want := "… and 4 spans, 1 marks and 5 waits more"
	if n := strings.Count(got.String(), "\n"); n != 3+60+2 || !strings.Contains(got.String(), want) {
		t.Errorf("%d lines, want 65 with %q:\n%s", n, want, got.String())
	}
}

// A part of the request has the segments of the whole, in finer columns. Times outside of the request have none.
func TestSegmentsOfAPart(t *testing.T) {
	q := waited(t)
	whole, part := requests.Segments(q, 0, q.Duration(), 1000), requests.Segments(q, 20*ms, 60*ms, 400) // columns of 0.1 ms
	n := 0
	for _, s := range q.Spans {
		var want []requests.Segment
		for _, segment := range whole[s.SpanID] {
			segment.Start, segment.End = max(20*ms, segment.Start), min(60*ms, segment.End)
			if segment.Start < segment.End {
				want = append(want, segment)
			}
		}
		n += len(want)
		if got := part[s.SpanID]; !slices.Equal(got, want) {
			t.Errorf("%s has %v\nwant %v", s.Name, got, want)
		}
	}
	if n < 5 {
		t.Errorf("only %d segments are compared", n)
	}
	for _, of := range [][2]time.Duration{{-1, ms}, {ms, ms}, {2 * ms, ms}, {0, 101 * ms}} {
		if got := requests.Segments(q, of[0], of[1], 10); len(got) > 0 {
			t.Errorf("from %v to %v there are segments: %v", of[0], of[1], got)
		}
	}
}

// Whatever intervals there are, segments are in order and within their span, and each has the kind of most of its time.
func TestSegments(t *testing.T) {
	q := waited(t)
	for _, n := range []int{1, 2, 3, 7, 47, 100, 1000, 33_333} {
		for _, s := range q.Spans {
			at := max(0, s.Start.Sub(q.Root.Start))
			for _, segment := range requests.Segments(q, 0, q.Duration(), n)[s.SpanID] {
				if segment.Start < at || segment.End <= segment.Start || segment.End > s.End.Sub(q.Root.Start) {
					t.Fatalf("of %d: %s has %+v after %v", n, s.Name, segment, at)
				}
				at = segment.End
				if segment.Longest.Kind != segment.Kind {
					t.Errorf("of %d: the longest of %+v is %+v", n, segment, segment.Longest)
				}
			}
		}
	}
	var got []string
	for _, s := range requests.Segments(q, 0, q.Duration(), 100)[spanID(5)] {
		got = append(got, fmt.Sprint(s.Kind, s.Start, s.End))
	}
	if want := []string{"running 82ms 84ms", "timer 84ms 96ms", "running 96ms 98ms"}; !slices.Equal(got, want) {
		t.Errorf("the measure has %q, want its parent's goroutine %q", got, want)
	}
	if got := requests.Segments(q, 0, q.Duration(), 1)[spanID(1)]; len(got) != 1 || got[0].Kind != waits.Mutex {
		t.Errorf("the request in one part is %v, want its longest state", got)
	}
	if got := requests.Segments(q, 0, q.Duration(), 100)[spanID(6)]; got != nil {
		t.Errorf("a span that the trace does not have has %v", got)
	}
}

// A wait belongs to its span, or to the measure that encloses it.
func TestWaits(t *testing.T) {
	q := waited(t)
	q.Waits.Goroutines[1].Intervals[1].SpanID = trace.SpanID{77} // was not kept
	q.Waits.Goroutines = append(q.Waits.Goroutines, waits.Goroutine{ID: 9, Function: "net/http.(*connReader).backgroundRead", Intervals: []waits.Interval{
		did(waits.Network, 0, 100*ms, 1, "", nil), // for the client
	}})
	early := *q.Spans[slices.IndexFunc(q.Spans, func(s *otlpenc.Span) bool { return s.Name == "render" })]
	early.SpanID, early.Name, early.Start, early.End = spanID(7), "ends in a wait", base.Add(47*ms), base.Add(49*ms)
	around := early
	around.SpanID, around.Name, around.Start, around.End = spanID(8), "begins before lookup", base.Add(5*ms), base.Add(61*ms)
	q.Spans = append(q.Spans, &early, &around)
	var got []string
	waits := requests.Waits(q)
	for _, s := range q.Spans {
		for _, w := range waits[s.SpanID] {
			by := "no goroutine"
			if w.By != nil {
				by = fmt.Sprint(w.By.Goroutine)
			}
			got = append(got, fmt.Sprintf("%s: %v %v %d in %s by %s", s.Name, w.Kind, w.Total, w.Count, w.Function, by))
		}
	}
	want := []string{
		"GET /search: network 58ms 1 in example.com/app.fetch by no goroutine",
		"GET /search: channel receive 22ms 1 in example.com/app.handle by 8",
		"lookup: mutex 30ms 1 in example.com/app.(*Index).Search by 99",
		"lookup: pool 6ms 2 in example.com/db.Query by 12",
		"lookup: system call 5ms 1 in example.com/db.open by no goroutine",
		"lookup: GC assist 5ms 1 in example.com/app.grow by no goroutine",
		"lookup: runnable 4ms 1 in example.com/app.(*Index).Search by 99",
		"render: timer 12ms 1 in example.com/app.render by no goroutine",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	q.Waits = nil
	if got := requests.Waits(q); len(got) > 0 {
		t.Errorf("without an execution trace: %v", got)
	}
}

// Samples that contradict the execution trace are left out and counted.
func TestContradictions(t *testing.T) {
	q := waited(t)
	tr := &profile.Trace{
		Origin: base, Engine: profile.EngineCPU,
		Frames:   []profile.Frame{{Name: "example.com/app.f", ResourceID: profile.None}},
		Stacks:   []profile.Stack{{FrameID: 0, ParentID: profile.None}},
		Contexts: []profile.SampleContext{{TraceID: q.TraceID(), SpanID: spanID(1)}, {TraceID: q.TraceID(), SpanID: spanID(2)}, {TraceID: q.TraceID(), SpanID: spanID(4)}},
	}
	for _, c := range []struct {
		name   string
		span   int
		at     time.Duration
		marker profile.Marker
		want   bool
	}{
		{"it runs", 0, 7 * ms, profile.Ordinary, true},
		{"the trace does not reach", 0, 2 * ms, profile.Ordinary, true},
		{"the trace does not reach, for another span", 1, 2 * ms, profile.Ordinary, true},
		{"a mutex", 1, 25 * ms, profile.Ordinary, false},
		{"a mutex, and the sample waits, too", 1, 25 * ms, profile.Idle, true},
		{"it runs, and the sample waits", 0, 7 * ms, profile.Idle, false},
		{"another goroutine of a span below", 0, 20500 * time.Microsecond, profile.Ordinary, true},
		{"that goroutine, but not of this span", 1, 20500 * time.Microsecond, profile.Ordinary, false},
		{"in a system call", 1, 52 * ms, profile.Syscall, true},
		{"help to the collector", 1, 57 * ms, profile.GC, true},
		{"within the skew", 0, 60900 * time.Microsecond, profile.Ordinary, true},
		{"beyond the skew", 0, 61100 * time.Microsecond, profile.Ordinary, false},
		{"nothing of the span", 2, 10 * ms, profile.Ordinary, false},
		{"after the request", 0, 120 * ms, profile.Ordinary, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr.Samples = []profile.Sample{{Timestamp: c.at, ContextID: c.span, Weight: ms, Count: 1, Marker: c.marker}}
			n := 0
			for range requests.Samples(q, tr) {
				n++
			}
			if got := n == 1; got != c.want || requests.Contradictions(q, tr) != 1-n {
				t.Errorf("shown %t with %d contradictions, want %t", got, requests.Contradictions(q, tr), c.want)
			}
		})
	}
	tr.Engine = profile.EngineWindow // samples have no times of their own
	if n := requests.Contradictions(q, tr); n != 0 {
		t.Errorf("%d contradictions to a sample without a time", n)
	}
	if n := requests.Contradictions(q, nil); n != 0 {
		t.Errorf("%d contradictions without a profile", n)
	}
}

// A request with as many spans as are kept, and many intervals: most spans are measures, or each span is the parent of the next one.
func BenchmarkWaterfallWithStates(b *testing.B) {
	b.Run("measures", func(b *testing.B) {
		benchmarkStates(b, 50_000, func(i int) sdktrace.ReadOnlySpan {
			at := time.Duration(i) * ms / 5
			return span(1, 2+i, 1, "measure", at, at+20*ms, ofMeasure)
		}, func(int) int { return 1 })
	})
	b.Run("chain", func(b *testing.B) {
		benchmarkStates(b, 20_000, func(i int) sdktrace.ReadOnlySpan {
			return span(1, 2+i, 1+i, "call", 0, 100*ms)
		}, func(i int) int { return 1 + i%501 })
	})
}

// benchmarkStates writes the waterfall of a root and 500 spans. A goroutine has n intervals, each with a span.
func benchmarkStates(b *testing.B, n int, child func(int) sdktrace.ReadOnlySpan, worked func(interval int) int) {
	r := requests.NewRecent(requests.Config{})
	for i := range 500 {
		r.OnEnd(child(i))
	}
	r.OnEnd(span(1, 1, 0, "GET /search", 0, 100*ms))
	q := r.Requests()[0].Request()
	g := waits.Goroutine{ID: 1}
	length := 100 * ms / time.Duration(n)
	for i := range n {
		at := time.Duration(i) * length
		g.Intervals = append(g.Intervals, did(waits.Kind(1+i%15), at, at+length, worked(i), fmt.Sprint("example.com/app.f", i%100), nil))
	}
	q.Waits = &waits.Request{TraceID: q.TraceID(), RootID: q.Root.SpanID, Duration: 100 * ms, Goroutines: []waits.Goroutine{g}}
	for b.Loop() {
		if err := requests.WriteWaterfall(io.Discard, q, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// A waterfall has no control characters and keeps its columns, whatever names an execution trace has.
func FuzzWaterfallWithStates(f *testing.F) {
	for _, s := range []string{"plain", "\x1b]0;title\a", "\u202e", "\xff", "☃", "\u0085", strings.Repeat("☃", 400), "two\nlines", "a/b.(*T).f", "[", ".(", "<script>&\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := requests.NewRecent(requests.Config{})
		r.OnEnd(span(1, 1, 0, "GET /", 0, 100*ms))
		q := r.Requests()[0].Request()
		by := &waits.Party{Function: s, Request: s, RootID: trace.SpanID{1}}
		q.Waits = &waits.Request{
			RootID: q.Root.SpanID, Name: s, Duration: 100 * ms,
			Goroutines: []waits.Goroutine{{Function: s, Intervals: []waits.Interval{did(waits.Mutex, 0, 100*ms, 1, s, by)}}},
			Causes:     []waits.Cause{{Kind: waits.Mutex, Duration: 100 * ms, Function: s, Span: s, By: by}},
		}
		var b bytes.Buffer
		if err := requests.WriteWaterfall(&b, q, nil); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) }) {
			t.Errorf("the waterfall of %q is %q", s, got)
		}
		lines := strings.Split(got, "\n")
		if len(lines) != 6 { // header, sentence, span, wait, legend, and the end of the last one
			t.Fatalf("the waterfall of %q has %d lines, want 6:\n%s", s, len(lines), got)
		}
		if row := []rune(lines[3]); len(row) != 100 || row[90] != ' ' {
			t.Errorf("the row of a wait in %q has %d columns:\n%s", s, len(row), lines[3])
		}
		if len([]rune(lines[1])) > 300 {
			t.Errorf("the sentence has %d characters", len([]rune(lines[1])))
		}
		b.Reset()
		if err := requests.WriteSVG(&b, q); err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(b.Bytes(), new(any)); err != nil {
			t.Errorf("the picture of %q is no XML: %v", s, err)
		}
	})
}
