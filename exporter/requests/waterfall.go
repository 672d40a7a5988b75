package requests

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/profiling/profile"
)

// WaterfallOptions configures [Request.WriteWaterfall].
type WaterfallOptions struct {
	Width   int // columns; 0 means 100, less than 60 counts as 60
	MaxRows int // rows for spans and marks; 0 means 60; what does not fit is summed up in one row

	// Profile adds, below each span that was sampled, the three hottest functions in it: of
	// each sample the innermost that is not the runtime's, and whether it waits. The time
	// is what the samples stand for, of all goroutines that work for the span together; a
	// few samples are a rough estimate of it.
	Profile *profile.Trace
}

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

// title is the name a row shows.
func (r Row) title() string {
	name := escape(r.Span.Name)
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
	return fmt.Sprintf("%s  %s%s  %s  trace %s", atMost(escape(q.Root.Name), maxName), text.Duration(q.Duration()), status,
		q.Root.Start.UTC().Format("2006-01-02 15:04:05.000Z"), q.TraceID())
}

// WriteWaterfall prints the request as text. Each span is a row with its place in the tree, a
// bar on a common axis, its start and its duration. Each mark is a row below its span. Names
// and values are escaped: they may come from outside.
func (q Request) WriteWaterfall(w io.Writer, o WaterfallOptions) error {
	if o.Width == 0 {
		o.Width = 100
	}
	if o.MaxRows <= 0 {
		o.MaxRows = 60
	}
	f := waterfall{w: bufio.NewWriter(w), width: max(60, o.Width), start: q.Root.Start, total: max(1, q.Duration())}
	f.tree = (f.width - 22) * 2 / 5
	f.bar = f.width - 22 - f.tree
	fmt.Fprintln(f.w, q.header())
	hottest := q.Hottest(o.Profile)
	var spans, marks int // that did not fit
	for _, r := range q.Rows() {
		if o.MaxRows == 0 {
			spans, marks = spans+1, marks+len(r.Span.Events)
			continue
		}
		o.MaxRows--
		f.span(r)
		for _, e := range r.Span.Events {
			if o.MaxRows == 0 {
				marks++
				continue
			}
			o.MaxRows--
			f.mark(e, r.Depth)
		}
		if h := hottest[r.Span.SpanID]; h != nil {
			f.hot(h, r.Depth)
		}
	}
	if spans+marks > 0 {
		fmt.Fprintf(f.w, "… and %d spans and %d marks more\n", spans, marks)
	}
	if q.Dropped > 0 {
		fmt.Fprintf(f.w, "… %d spans of this trace were not kept\n", q.Dropped)
	}
	return f.w.Flush()
}

type waterfall struct {
	w         *bufio.Writer
	start     time.Time
	total     time.Duration
	width     int
	tree, bar int // widths of columns
}

func (f *waterfall) span(r Row) {
	s := r.Span
	from, to := f.column(s.Start), f.column(s.End)
	bar := make([]rune, f.bar)
	for i := range bar {
		switch {
		case i < from || i > to:
			bar[i] = '·'
		default:
			bar[i] = '█'
		}
	}
	for _, e := range s.Events {
		bar[f.column(e.Time)] = '◆'
	}
	fmt.Fprintf(f.w, "%s %s %9s %9s\n", fit(strings.Repeat("  ", r.Depth)+r.title(), f.tree), string(bar), text.Duration(s.Start.Sub(f.start)), text.Duration(s.Duration()))
}

// mark is a row below its span: when, what, and its attributes.
func (f *waterfall) mark(e sdktrace.Event, depth int) {
	var line strings.Builder
	line.WriteString(strings.Repeat("  ", depth) + "◆ " + escape(e.Name))
	for _, kv := range e.Attributes {
		line.WriteString(" " + escape(string(kv.Key)) + "=" + brief(kv.Value))
	}
	fmt.Fprintf(f.w, "%s %9s\n", fit(line.String(), f.width-20), text.Duration(e.Time.Sub(f.start)))
}

// hot is a row below its span: what ran in it, and for how long.
func (f *waterfall) hot(h *Hot, depth int) {
	fmt.Fprintf(f.w, "%s %9s\n", fit(strings.Repeat("  ", depth)+"▸ "+h.String(), f.width-10), text.Duration(h.Total))
}

// column is where on the axis a moment lies; moments outside are at its ends.
func (f *waterfall) column(t time.Time) int {
	at := float64(t.Sub(f.start)) / float64(f.total) * float64(f.bar)
	return int(max(0, min(float64(f.bar-1), at)))
}

// The lengths at which texts are cut, in characters.
const (
	maxName  = 80 // of a request's or a mark's, where there is no column for it
	maxValue = 40 // of an attribute's value
)

func brief(v attribute.Value) string {
	return atMost(escape(v.String()), maxValue)
}

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

// escape makes text from outside safe to print: control characters, which a
// terminal might obey, invalid UTF-8 and what has no glyph are shown as codes.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
