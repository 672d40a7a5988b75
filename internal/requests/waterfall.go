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

// header returns a line about the request.
func (q Request) header() string {
	status := ProtocolStatus(q.Root)
	if status != "" {
		status = "  status " + atMost(text.Escape(status, ""), maxValue)
	}
	open := ""
	if wasOpen(q.Root) {
		open = openGlyph + " open for "
	}
	return fmt.Sprintf("%s  %s%s%s  %s  trace %s", atMost(text.Escape(q.Root.Name, ""), maxName),
		open, text.Duration(q.Duration()), status,
		q.Root.Start.UTC().Format("2006-01-02 15:04:05.000Z"), q.TraceID())
}

// missing returns a line about the spans that are not in memory.
func (q Request) missing() string {
	return fmt.Sprintf("… %d spans of this trace were not kept", q.Dropped)
}

// Sizes of a waterfall, in characters and in rows.
const (
	treeWidth = 31 // the names' column
	barWidth  = 47
	allWidth  = treeWidth + 1 + barWidth + 21 // with two columns of times
	maxRows   = 60                            // for spans and marks
)

// WriteWaterfall writes the request as text of 100 columns. Each span is a row. The row shows the
// position in the tree, a bar on a common axis, the start and the duration. Each mark is a row
// below the mark's span. After 60 rows, a line states the number of omitted rows. WriteWaterfall
// escapes names and values.
//
// A group of equal rows occupies one row: see [Groups]. The bar of the group shows the times of all
// spans. The last column shows the sum of the durations. The line below states the sum, the slowest
// span and the number of failed spans. The line also counts marks and spans below the group,
// because these marks and spans occupy no rows.
//
// The sign ▶ marks spans that were open when the process ended, and the end of their bars. The
// header then states how long the request was open.
//
// If several spans determined the duration, a line below the header names the spans with the
// largest shares: see [CriticalPath].
//
// With a profile t, the row below a sampled span names the three hottest functions. The function of
// a sample is the innermost function outside the runtime. The time is the weight of the samples of
// all goroutines that worked for the span. With few samples, the time is a rough estimate. t may be
// nil.
//
// With q.Waits, the second line states the cause of the duration. Bars show the states of the
// span's goroutine, and a legend follows the spans. Rows below a span show the three longest waits
// of at least a hundredth of the request. Each row shows the kind, the function, the function that
// ended the wait, and the total time. Rows of waits count among the 60 rows. Without q.Waits, the
// second line contains q.NoWaits, the reason.
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
	grouped := map[*otlpenc.Span]bool{} // by pointer: ids may be wrong
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
	if more := f.omitted.String(); more != "" {
		fmt.Fprintf(f.w, "… and %s more\n", more)
	}
	if q.Dropped > 0 {
		fmt.Fprintln(f.w, q.missing())
	}
	if n := Contradictions(q, t); n > 0 {
		fmt.Fprintf(f.w, "… %d samples contradicted the execution trace and are left out\n", n)
	}
	return f.w.Flush()
}

// An omission counts spans, marks and waits without a row.
type omission struct{ spans, marks, waits int }

// add counts a row with a number of waits.
func (l *omission) add(r Row, waits int) {
	l.spans, l.marks, l.waits = l.spans+1, l.marks+len(r.Span.Events), l.waits+waits
}

func (l omission) String() string {
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

	room    int // for rows
	omitted omission

	hottest  map[trace.SpanID]*SpanProfile
	segments map[trace.SpanID][]Segment // nil without states
	waits    map[trace.SpanID][]Wait
	classes  [waiting.Classes]bool // in bars
}

// row prints a span and the rows of its marks, waits and functions.
func (f *waterfall) row(r Row) {
	waits := f.longest(f.waits[r.Span.SpanID])
	if f.room == 0 {
		f.omitted.add(r, len(waits))
		return
	}
	f.room--
	f.bar(r.Depth, r.title(), r.Span.Duration(), r.Span)
	marks := r.Span.Events[:min(len(r.Span.Events), f.room)]
	for _, e := range marks {
		f.detail(r.Depth, "◆ "+markText(e), allWidth-20, e.Time.Sub(f.start))
	}
	f.room -= len(marks)
	f.omitted.marks += len(r.Span.Events) - len(marks)
	f.below(waits, f.hottest[r.Span.SpanID], r.Depth)
}

// group prints the row of a group, and sums below it.
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
		g.each(rows, func(r Row) { f.omitted.add(r, 0) })
		f.omitted.waits += len(longest)
		return
	}
	f.room -= 2
	first := rows[g.Rows[0]]
	var spans []*otlpenc.Span
	for _, i := range g.Rows {
		spans = append(spans, rows[i].Span)
	}
	indent := strings.Repeat("  ", first.Depth)
	f.bar(first.Depth, g.title(rows, treeWidth-len(indent)), g.Total, spans...)
	fmt.Fprintln(f.w, atMost(indent+"× "+g.about(rows), allWidth))
	f.below(longest, &ran, first.Depth)
}

// below prints the rows of waits, and the hottest functions. h may be nil.
func (f *waterfall) below(waits []Wait, h *SpanProfile, depth int) {
	shown := waits[:min(len(waits), f.room)]
	for _, wait := range shown {
		sign := string(glyphs[waiting.ClassOf(wait.Kind)])
		f.detail(depth, sign+" "+wait.describe(f.root), allWidth-10, wait.Total)
	}
	f.room -= len(shown)
	f.omitted.waits += len(waits) - len(shown)
	if h != nil && h.Samples > 0 {
		f.detail(depth, "▸ "+h.String(), allWidth-10, h.Total)
	}
}

// bar prints a row with the bar of spans and the start of the first span.
func (f *waterfall) bar(depth int, title string, took time.Duration, spans ...*otlpenc.Span) {
	bar := []rune(strings.Repeat("·", barWidth))
	for _, s := range spans {
		f.draw(bar, s)
	}
	fmt.Fprintf(f.w, "%s %s %9s %9s\n", fit(strings.Repeat("  ", depth)+title, treeWidth),
		string(bar), text.Duration(spans[0].Start.Sub(f.start)), text.Duration(took))
}

// detail prints a row below a span, with a time after width characters.
func (f *waterfall) detail(depth int, line string, width int, d time.Duration) {
	fmt.Fprintf(f.w, "%s %9s\n", fit(strings.Repeat("  ", depth)+line, width), text.Duration(d))
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
	if wasOpen(s) {
		bar[f.column(s.End)] = []rune(openGlyph)[0]
	}
}

// markText returns the name and the attributes of a mark, escaped.
func markText(e sdktrace.Event) string {
	var s strings.Builder
	s.WriteString(text.Escape(e.Name, ""))
	for _, kv := range e.Attributes {
		value := atMost(text.Escape(kv.Value.String(), ""), maxValue)
		s.WriteString(" " + text.Escape(string(kv.Key), "") + "=" + value)
	}
	return s.String()
}

// column returns the place of a moment on the axis. Moments outside are at the nearer end.
func (f *waterfall) column(t time.Time) int {
	at := float64(t.Sub(f.start)) / float64(f.total) * barWidth
	return int(max(0, min(barWidth-1, at)))
}

// Maximum lengths of texts, in characters.
const (
	maxName  = 80 // a name outside a column
	maxValue = 40 // the value of an attribute
)

// fit cuts or pads s to n characters.
func fit(s string, n int) string {
	s = atMost(s, n)
	return s + strings.Repeat(" ", n-utf8.RuneCountInString(s))
}

// atMost cuts s to n characters.
func atMost(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
