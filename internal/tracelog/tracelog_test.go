package tracelog_test

import (
	"bytes"
	rt "runtime/trace"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/tracelog"
)

var span = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{15: 0xab}, SpanID: trace.SpanID{7: 0xcd}})

// The execution trace has the notes, with names that are not too long.
func TestNotesAreInTheTrace(t *testing.T) {
	if tracelog.Enabled() {
		t.Skip("the execution tracer is in use")
	}
	var b bytes.Buffer
	if err := rt.Start(&b); err != nil {
		t.Fatal(err)
	}
	if !tracelog.Enabled() {
		t.Error("Enabled is false while the tracer runs")
	}
	tracelog.Root(t.Context(), span, trace.SpanID{}, "GET")
	tracelog.Root(t.Context(), span, trace.SpanID{7: 0xef}, "POST")
	tracelog.Start(t.Context(), span.SpanID(), "sql")
	tracelog.Within(trace.SpanID{7: 0xef}, span, "render")
	tracelog.End(span.SpanID(), "GET /"+strings.Repeat("long", 100))
	tracelog.RootEnd(t.Context(), span, trace.SpanID{}, "GET /items")
	tracelog.RootEnd(t.Context(), span, trace.SpanID{7: 0xef}, "POST /items")
	tracelog.Inner(span.SpanID(), 42, 3, 5000000, "render page")
	tracelog.CPU(cputime.Usage{Process: 987654321, Throttled: 5, Limit: 1.5, Delayed: 7})
	tracelog.Beat()
	rt.Stop()
	for _, want := range []string{
		"perfline.root", "00000000000000cd 000000000000000000000000000000ab GET", "perfline.called", "00000000000000cd 000000000000000000000000000000ab 00000000000000ef POST", "perfline.start", "00000000000000cd sql", "perfline.within", "00000000000000cd 000000000000000000000000000000ab 00000000000000ef render", "perfline.ended", "00000000000000cd 000000000000000000000000000000ab GET /items", "perfline.answered", "00000000000000cd 000000000000000000000000000000ab 00000000000000ef POST /items", "perfline.inner", "00000000000000cd 42 3 5000000 render page", "perfline.end", "00000000000000cd GET /long", "perfline.cpu", "987654321 5 1500 7", "perfline.beat",
	} {
		if !bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("the trace lacks %q", want)
		}
	}
	if bytes.Contains(b.Bytes(), []byte(strings.Repeat("long", 51))) {
		t.Error("a long name is not cut")
	}
}

func TestParse(t *testing.T) {
	const id, traceID = "00000000000000cd", "000000000000000000000000000000ab"
	for _, c := range []struct {
		category, message string
		want              tracelog.Note
	}{
		{"perfline.root", id + " " + traceID + " GET /", tracelog.Note{Kind: tracelog.RootStart, SpanID: span.SpanID(), TraceID: span.TraceID(), Name: "GET /"}},
		{"perfline.root", id + " " + traceID, tracelog.Note{}},
		{"perfline.called", id + " " + traceID + " 00000000000000ef GET /", tracelog.Note{Kind: tracelog.RootStart, SpanID: span.SpanID(), TraceID: span.TraceID(), Parent: trace.SpanID{7: 0xef}, Name: "GET /"}},
		{"perfline.called", id + " " + traceID + " GET /", tracelog.Note{}},
		{"perfline.start", id + " a name", tracelog.Note{Kind: tracelog.SpanStart, SpanID: span.SpanID(), Name: "a name"}},
		{"perfline.within", id + " " + traceID + " 00000000000000ef a name", tracelog.Note{Kind: tracelog.SpanStart, SpanID: span.SpanID(), TraceID: span.TraceID(), Root: trace.SpanID{7: 0xef}, Name: "a name"}},
		{"perfline.within", id + " a name", tracelog.Note{}},
		{"perfline.answered", id + " " + traceID + " 00000000000000ef GET /", tracelog.Note{Kind: tracelog.SpanEnd, SpanID: span.SpanID(), TraceID: span.TraceID(), Parent: trace.SpanID{7: 0xef}, Name: "GET /"}},
		{"perfline.ended", id + " " + traceID + " GET /", tracelog.Note{Kind: tracelog.SpanEnd, SpanID: span.SpanID(), TraceID: span.TraceID(), Name: "GET /"}},
		{"perfline.ended", id + " GET /", tracelog.Note{}},
		{"perfline.answered", id + " " + traceID + " GET /", tracelog.Note{}},
		{"perfline.end", id + " ", tracelog.Note{Kind: tracelog.SpanEnd, SpanID: span.SpanID()}},
		{"perfline.end", id, tracelog.Note{}},
		{"perfline.end", "xyz name", tracelog.Note{}},
		{"perfline.root", id + " short", tracelog.Note{}},
		{"perfline.root", id + " " + traceID + "00 GET /", tracelog.Note{}},
		{"perfline.inner", id + " 42 3 500 a name", tracelog.Note{Kind: tracelog.InnerSpan, SpanID: span.SpanID(), Goroutine: 42, Start: 3, End: 500, Name: "a name"}},
		{"perfline.inner", id + " 42 3 3 ", tracelog.Note{Kind: tracelog.InnerSpan, SpanID: span.SpanID(), Goroutine: 42, Start: 3, End: 3}},
		{"perfline.inner", id + " 42 3 500", tracelog.Note{}},
		{"perfline.inner", id + " -42 3 500 a name", tracelog.Note{}},
		{"perfline.inner", id + " 42 500 3 a name", tracelog.Note{}},
		{"perfline.inner", id + " 42 -3 500 a name", tracelog.Note{}},
		{"perfline.cpu", "1234567890", tracelog.Note{Kind: tracelog.CPUTime, CPU: cputime.Usage{Process: 1234567890}}},
		{"perfline.cpu", "1234567890 5 1500 7", tracelog.Note{Kind: tracelog.CPUTime, CPU: cputime.Usage{Process: 1234567890, Throttled: 5, Limit: 1.5, Delayed: 7}}},
		{"perfline.cpu", "1234567890 5 1500", tracelog.Note{}},
		{"perfline.cpu", "1234567890 5 1500 7 8", tracelog.Note{}},
		{"perfline.cpu", "1234567890 5 -1 7", tracelog.Note{}},
		{"perfline.cpu", "0", tracelog.Note{}},
		{"perfline.cpu", "-5", tracelog.Note{}},
		{"perfline.cpu", "1.5", tracelog.Note{}},
		{"perfline.beat", "", tracelog.Note{Kind: tracelog.Running}},
		{"span", id + " name", tracelog.Note{}},
		{"", "", tracelog.Note{}},
	} {
		if got := tracelog.Parse(c.category, c.message); got != c.want {
			t.Errorf("Parse(%q, %q) = %+v, want %+v", c.category, c.message, got, c.want)
		}
	}
}
