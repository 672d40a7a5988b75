package requests

import (
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/text"
)

// A Row describes the position of a span in the tree of the request's spans.
type Row struct {
	Span   *otlpenc.Span
	Depth  int  // 0 is the request itself
	Orphan bool // the parent is missing
}

// Rows returns the tree of the request's spans as a list. Each span follows the span's parent.
// Siblings are sorted by start. A span with a missing parent is an orphan: a child of the root
// span, or of the root span of a request inside that was open at the orphan's start. Rows omits
// spans in a cycle of parents. Requests of Recent contain no cycles.
func Rows(q Request) []Row {
	children, inside := q.children()
	var rows []Row
	seen := map[*otlpenc.Span]bool{} // wrong ids may form cycles
	var walk func(s *otlpenc.Span, depth int)
	walk = func(s *otlpenc.Span, depth int) {
		if seen[s] {
			return
		}
		seen[s] = true
		orphan := depth > 0 && !inside[s.ParentID] && !s.Remote
		rows = append(rows, Row{Span: s, Depth: depth, Orphan: orphan})
		for _, c := range children[s.SpanID] {
			walk(c, depth+1)
		}
	}
	walk(q.Root, 0)
	return rows
}

// ends returns for each row the index after the last row below it.
func ends(rows []Row) []int {
	all := make([]int, len(rows))
	var above []int // the rows above a row
	for i, r := range rows {
		for _, ended := range above[r.Depth:] {
			all[ended] = i
		}
		above = append(above[:r.Depth], i)
	}
	for _, last := range above {
		all[last] = len(rows)
	}
	return all
}

// children returns the children of each span, by start, and the ids of all spans. Spans with a
// missing parent are children of a root: see [Rows].
func (q Request) children() (children map[trace.SpanID][]*otlpenc.Span,
	inside map[trace.SpanID]bool) {
	children, inside = map[trace.SpanID][]*otlpenc.Span{}, map[trace.SpanID]bool{}
	headers, groups := make([]*otlpenc.Header, len(q.Spans)), make([]*otlpenc.Group, len(q.Spans))
	for i, s := range q.Spans {
		inside[s.SpanID] = true
		headers[i], groups[i] = &s.Header, s.Group
	}
	for i, parent := range parentsOf(headers, groups, nil) {
		if i == 0 {
			continue
		}
		if !parent.IsValid() {
			parent = q.Root.SpanID
		}
		children[parent] = append(children[parent], q.Spans[i])
	}
	return children, inside
}

const parentMissing = " (parent missing)"

// title returns the text of a row.
func (r Row) title() string {
	name := text.Escape(r.Name(), "")
	if r.Orphan {
		name += parentMissing
	}
	switch {
	case r.Open():
		name += " " + openGlyph
	case r.failed():
		name += " ✗"
	}
	return name
}

// ProcessEnded begins the description of a span's status if the end of the process ended the span.
const ProcessEnded = "the process ended: "

// openGlyph marks spans that were open when the process ended.
const openGlyph = "▶"

// Open reports whether the span was open when its process ended: see package blackbox.
func (r Row) Open() bool { return wasOpen(r.Span) }

func wasOpen(s *otlpenc.Span) bool {
	return s.Status.Code == codes.Error && strings.HasPrefix(s.Status.Description, ProcessEnded)
}

func (r Row) failed() bool { return r.Span.Status.Code == codes.Error }
