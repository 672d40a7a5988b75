package requests

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/profiling/profile"
)

// header is the request in a line.
func (q Request) header() string {
	status := ProtocolStatus(q.Root)
	if status != "" {
		status = "  status " + atMost(text.Escape(status, ""), maxValue)
	}
	return fmt.Sprintf("%s  %s%s  %s  trace %s", atMost(text.Escape(q.Root.Name, ""), maxName),
		text.Duration(q.Duration()), status,
		q.Root.Start.UTC().Format("2006-01-02 15:04:05.000Z"), q.TraceID())
}

// The measures of a waterfall, in characters and in rows.
const (
	treeWidth = 31 // the names' column
	barWidth  = 47
	allWidth  = treeWidth + 1 + barWidth + 21 // with two columns of times
	maxRows   = 60                            // for spans and marks
)

// WriteWaterfall prints the request as text of 100 columns. Each span is a row with its place in
// the tree, a bar on a common axis, its start and its duration. Each mark is a row below its span.
// There are 60 rows at most, and a count of the rest. Names and values are escaped: they may come
// from outside.
//
// Equal rows are one row: see [Groups]. Its bar shows all of their times, and the last column has
// the sum. The line below it has the sum, the slowest and the failed of them, and counts the spans
// below them and the marks, which have no rows of their own.
//
// If several spans determined the duration, a line below the header has the names with the largest
// shares: see [CriticalPath].
//
// With a profile, the row below a sampled span has its three hottest functions. A sample counts for
// its innermost function that is not the runtime's. The time is what the samples stand for, of all
// goroutines that work for the span together. A few samples are a rough estimate of it. t may be
// nil.
//
// With q.Waits, the second line is the sentence that names the cause of the duration. Bars show the
// states of the span's goroutine, as the line below the spans explains. Below a span are its three
// longest waits, if they took a hundredth of the request: what for, where, who ended it, and how
// long all of them took together. They count among the 60 rows.
func WriteWaterfall(w io.Writer, q Request, t *profile.Trace) error {
	f := waterfall{w: bufio.NewWriter(w), start: q.Root.Start, total: max(1, q.Duration()),
		root: q.Root.SpanID, room: maxRows}
	fmt.Fprintln(f.w, q.header())
	f.explain(q)
	if line := q.pathLine(); line != "" {
		fmt.Fprintln(f.w, line)
	}
	f.hottest = SpanProfiles(q, t)
	rows := Rows(q)
	groups := map[int]*Group{} // by their first rows
	all := Groups(rows)
	for i := range all {
		groups[all[i].Rows[0]] = &all[i]
	}
	grouped := map[*otlpenc.Span]bool{} // ids may be wrong
	for i, r := range rows {
		switch g := groups[i]; {
		case grouped[r.Span]:
		case g == nil:
			f.row(r)
		default:
			g.each(rows, func(r Row) { grouped[r.Span] = true })
			f.group(g, rows)
		}
	}
	f.legend()
	if more := f.left.String(); more != "" {
		fmt.Fprintf(f.w, "… and %s more\n", more)
	}
	if q.Dropped > 0 {
		fmt.Fprintf(f.w, "… %d spans of this trace were not kept\n", q.Dropped)
	}
	if n := Contradictions(q, t); n > 0 {
		fmt.Fprintf(f.w, "… %d samples contradicted the execution trace and are left out\n", n)
	}
	return f.w.Flush()
}

// leftOut counts what has no row.
type leftOut struct{ spans, marks, waits int }

// add counts a row with a number of waits.
func (l *leftOut) add(r Row, waits int) {
	l.spans, l.marks, l.waits = l.spans+1, l.marks+len(r.Span.Events), l.waits+waits
}

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

	room int // for rows
	left leftOut

	hottest  map[trace.SpanID]*SpanProfile
	segments map[trace.SpanID][]Segment // nil without states
	waits    map[trace.SpanID][]Wait
	classes  [waiting.Classes]bool // that bars show
}

// row prints a span and what is below it.
func (f *waterfall) row(r Row) {
	waits := f.longest(f.waits[r.Span.SpanID])
	if f.room == 0 {
		f.left.add(r, len(waits))
		return
	}
	f.room--
	f.span(r)
	marks := r.Span.Events[:min(len(r.Span.Events), f.room)]
	for _, e := range marks {
		f.mark(e, r.Depth)
	}
	f.room -= len(marks)
	f.left.marks += len(r.Span.Events) - len(marks)
	f.below(waits, f.hottest[r.Span.SpanID], r.Depth)
}

// group prints the row of a group, and sums of what is below it.
func (f *waterfall) group(g *Group, rows []Row) {
	var waits waitSums
	var ran SpanProfile
	g.each(rows, func(r Row) {
		for _, wait := range f.waits[r.Span.SpanID] {
			waits.add(wait)
		}
		ran.merge(f.hottest[r.Span.SpanID])
	})
	ran.sort()
	longest := f.longest(waits.sorted())
	if f.room < 2 {
		f.room = 0
		g.each(rows, func(r Row) { f.left.add(r, 0) })
		f.left.waits += len(longest)
		return
	}
	f.room -= 2
	first := rows[g.Rows[0]]
	bar := []rune(strings.Repeat("·", barWidth))
	for _, i := range g.Rows {
		f.draw(bar, rows[i].Span)
	}
	indent := strings.Repeat("  ", first.Depth)
	fmt.Fprintf(f.w, "%s %s %9s %9s\n", fit(indent+g.title(rows, treeWidth-len(indent)), treeWidth),
		string(bar), text.Duration(first.Span.Start.Sub(f.start)), text.Duration(g.Total))
	fmt.Fprintln(f.w, strings.TrimRight(fit(indent+"× "+g.about(rows), allWidth), " "))
	f.below(longest, &ran, first.Depth)
}

// below prints the rows of waits, and the hottest functions. h may be nil.
func (f *waterfall) below(waits []Wait, h *SpanProfile, depth int) {
	shown := waits[:min(len(waits), f.room)]
	for _, wait := range shown {
		f.wait(wait, depth)
	}
	f.room -= len(shown)
	f.left.waits += len(waits) - len(shown)
	if h != nil && h.Samples > 0 {
		f.hot(h, depth)
	}
}

func (f *waterfall) span(r Row) {
	bar := []rune(strings.Repeat("·", barWidth))
	f.draw(bar, r.Span)
	fmt.Fprintf(f.w, "%s %s %9s %9s\n", fit(strings.Repeat("  ", r.Depth)+r.title(), treeWidth),
		string(bar), text.Duration(r.Span.Start.Sub(f.start)), text.Duration(r.Span.Duration()))
}

// draw draws a span with its states and marks.
func (f *waterfall) draw(bar []rune, s *otlpenc.Span) {
	for i := f.column(s.Start); i <= f.column(s.End); i++ {
		bar[i] = f.full()
	}
	f.fill(bar, f.segments[s.SpanID])
	for _, e := range s.Events {
		bar[f.column(e.Time)] = '◆'
	}
}

// mark is a row below its span: when, what, and its attributes.
func (f *waterfall) mark(e sdktrace.Event, depth int) {
	var line strings.Builder
	line.WriteString(strings.Repeat("  ", depth) + "◆ " + text.Escape(e.Name, ""))
	for _, kv := range e.Attributes {
		line.WriteString(" " + text.Escape(string(kv.Key), "") + "=" +
			atMost(text.Escape(kv.Value.String(), ""), maxValue))
	}
	fmt.Fprintf(f.w, "%s %9s\n", fit(line.String(), allWidth-20),
		text.Duration(e.Time.Sub(f.start)))
}

// hot is a row below its span: what ran in it, and for how long.
func (f *waterfall) hot(h *SpanProfile, depth int) {
	fmt.Fprintf(f.w, "%s %9s\n", fit(strings.Repeat("  ", depth)+"▸ "+h.String(), allWidth-10),
		text.Duration(h.Total))
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
