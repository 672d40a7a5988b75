package requests

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/states"
)

// A Row is a span's place in the tree of its request.
type Row struct {
	Span   *otlpenc.Span
	Depth  int  // 0 is the request itself
	Orphan bool // its parent is missing
}

// Rows are the spans of the request, each below its parent and by start. Those whose parent
// is missing are below the request.
func (q Request) Rows() []Row {
	children := map[trace.SpanID][]*otlpenc.Span{}
	inside := map[trace.SpanID]bool{}
	for _, s := range q.Spans {
		inside[s.SpanID] = true
	}
	for _, s := range q.Spans[1:] {
		parent := s.ParentID
		if !inside[parent] {
			parent = q.Root.SpanID
		}
		children[parent] = append(children[parent], s)
	}
	var rows []Row
	var walk func(s *otlpenc.Span, depth int)
	walk = func(s *otlpenc.Span, depth int) {
		rows = append(rows, Row{Span: s, Depth: depth, Orphan: depth > 0 && !inside[s.ParentID]})
		for _, c := range children[s.SpanID] {
			walk(c, depth+1)
		}
	}
	walk(q.Root, 0)
	return rows
}

// Name returns the name of the span. For a call out that is named by its method alone, as the conventions have it, the host that was called
// is behind it.
func (r Row) Name() string {
	s := r.Span
	if s.Kind != trace.SpanKindClient || strings.ContainsAny(s.Name, " /.") {
		return s.Name
	}
	host, port := "", ""
	for _, kv := range s.Attributes {
		switch kv.Key {
		case "server.address":
			host = kv.Value.String()
		case "server.port":
			port = kv.Value.String()
		}
	}
	switch {
	case host == "":
		return s.Name
	case port == "", port == "80", port == "443":
		return s.Name + " " + host
	default:
		return s.Name + " " + net.JoinHostPort(host, port)
	}
}

// title is what a row shows.
func (r Row) title() string {
	name := text.Escape(r.Name(), "")
	if r.Orphan {
		name += " (parent missing)"
	}
	if r.Span.Status.Code == codes.Error {
		name += " ✗"
	}
	return name
}

// header is the request in a line.
func (q Request) header() string {
	status := ""
	for _, kv := range q.Root.Attributes {
		if kv.Key == "http.response.status_code" {
			status = "  status " + kv.Value.String()
		}
	}
	return fmt.Sprintf("%s  %s%s  %s  trace %s", atMost(text.Escape(q.Root.Name, ""), maxName), text.Duration(q.Duration()), status,
		q.Root.Start.UTC().Format("2006-01-02 15:04:05.000Z"), q.TraceID())
}

// The measures of a waterfall, in characters and in rows.
const (
	treeWidth = 31 // the names' column
	barWidth  = 47
	allWidth  = treeWidth + 1 + barWidth + 21 // with two columns of times
	maxRows   = 60                            // for spans and marks
)

// WriteWaterfall prints the request as text of 100 columns. Each span is a row with its place in the tree, a
// bar on a common axis, its start and its duration. Each mark is a row below its span. There are 60 rows
// at most, and a count of the rest. Names and values are escaped: they may come from outside.
//
// With a profile, the row below a sampled span has its three hottest functions. A sample counts for its innermost
// function that is not the runtime's. The time is what the samples stand for, of all goroutines that work for the span
// together. A few samples are a rough estimate of it. t may be nil.
//
// With q.States, the second line is the sentence that names the cause of the duration. Bars show the states of the span's
// goroutine, as the line below the spans explains. Below a span are its three longest waits, if they took a hundredth of the request:
// what for, where, who ended it, and how long all of them took together. They count among the 60 rows.
func (q Request) WriteWaterfall(w io.Writer, t *profile.Trace) error {
	f := waterfall{w: bufio.NewWriter(w), start: q.Root.Start, total: max(1, q.Duration()), root: q.Root.SpanID}
	fmt.Fprintln(f.w, q.header())
	f.states(q)
	hottest := q.SpanProfiles(t)
	var rows int
	var left leftOut
	for _, r := range q.Rows() {
		if rows == maxRows {
			left.spans, left.marks, left.waits = left.spans+1, left.marks+len(r.Span.Events), left.waits+len(f.waits[r.Span.SpanID])
			continue
		}
		f.span(r)
		rows++
		marks := r.Span.Events[:min(len(r.Span.Events), maxRows-rows)]
		for _, e := range marks {
			f.mark(e, r.Depth)
		}
		rows += len(marks)
		left.marks += len(r.Span.Events) - len(marks)
		waits := f.waits[r.Span.SpanID]
		shown := waits[:min(len(waits), maxRows-rows)]
		for _, wait := range shown {
			f.wait(wait, r.Depth)
		}
		rows += len(shown)
		left.waits += len(waits) - len(shown)
		if h := hottest[r.Span.SpanID]; h != nil {
			f.hot(h, r.Depth)
		}
	}
	f.legend()
	if more := left.String(); more != "" {
		fmt.Fprintf(f.w, "… and %s more\n", more)
	}
	if q.Dropped > 0 {
		fmt.Fprintf(f.w, "… %d spans of this trace were not kept\n", q.Dropped)
	}
	if n := q.Contradictions(t); n > 0 {
		fmt.Fprintf(f.w, "… %d samples contradicted the execution trace and are left out\n", n)
	}
	return f.w.Flush()
}

// leftOut counts what has no row.
type leftOut struct{ spans, marks, waits int }

func (l leftOut) String() string {
	switch {
	case l.waits > 0:
		return fmt.Sprintf("%d spans, %d marks and %d waits", l.spans, l.marks, l.waits)
	case l.spans+l.marks > 0:
		return fmt.Sprintf("%d spans and %d marks", l.spans, l.marks)
	}
	return ""
}

type waterfall struct {
	w     *bufio.Writer
	start time.Time
	total time.Duration
	root  trace.SpanID

	segments map[trace.SpanID][]Segment // nil without states
	waits    map[trace.SpanID][]Wait    // that have a row
	classes  [states.Classes]bool       // that bars show
}

func (f *waterfall) span(r Row) {
	s := r.Span
	bar := []rune(strings.Repeat("·", barWidth))
	for i := f.column(s.Start); i <= f.column(s.End); i++ {
		bar[i] = f.full()
	}
	f.fill(bar, f.segments[s.SpanID])
	for _, e := range s.Events {
		bar[f.column(e.Time)] = '◆'
	}
	fmt.Fprintf(f.w, "%s %s %9s %9s\n", fit(strings.Repeat("  ", r.Depth)+r.title(), treeWidth), string(bar), text.Duration(s.Start.Sub(f.start)), text.Duration(s.Duration()))
}

// mark is a row below its span: when, what, and its attributes.
func (f *waterfall) mark(e sdktrace.Event, depth int) {
	var line strings.Builder
	line.WriteString(strings.Repeat("  ", depth) + "◆ " + text.Escape(e.Name, ""))
	for _, kv := range e.Attributes {
		line.WriteString(" " + text.Escape(string(kv.Key), "") + "=" + atMost(text.Escape(kv.Value.String(), ""), maxValue))
	}
	fmt.Fprintf(f.w, "%s %9s\n", fit(line.String(), allWidth-20), text.Duration(e.Time.Sub(f.start)))
}

// hot is a row below its span: what ran in it, and for how long.
func (f *waterfall) hot(h *SpanProfile, depth int) {
	fmt.Fprintf(f.w, "%s %9s\n", fit(strings.Repeat("  ", depth)+"▸ "+h.String(), allWidth-10), text.Duration(h.Total))
}

// column is where on the axis a moment lies; moments outside are at its ends.
func (f *waterfall) column(t time.Time) int {
	at := float64(t.Sub(f.start)) / float64(f.total) * barWidth
	return int(max(0, min(barWidth-1, at)))
}

// The lengths at which texts are cut, in characters.
const (
	maxName  = 80 // of a request's or a mark's, where there is no column for it
	maxValue = 40 // of an attribute's value
)

// fit makes s n characters wide.
func fit(s string, n int) string {
	s = atMost(s, n)
	return s + strings.Repeat(" ", n-utf8.RuneCountInString(s))
}

// atMost is s, or its beginning if that has more than n characters.
func atMost(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
