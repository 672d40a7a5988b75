package requests

import (
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
// Siblings are sorted by start. Spans with a missing parent are children of the root span. Rows
// omits spans in a cycle of parents. Requests of Recent contain no cycles.
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
		rows = append(rows, Row{Span: s, Depth: depth, Orphan: depth > 0 && !inside[s.ParentID]})
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

// children returns the children of each span, by start, and the ids of all spans. Spans without a
// parent in the request are children of the root.
func (q Request) children() (children map[trace.SpanID][]*otlpenc.Span,
	inside map[trace.SpanID]bool) {
	children, inside = map[trace.SpanID][]*otlpenc.Span{}, map[trace.SpanID]bool{}
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
	return children, inside
}

// title returns the text of a row.
func (r Row) title() string {
	name := text.Escape(r.Name(), "")
	if r.Orphan {
		name += " (parent missing)"
	}
	if r.failed() {
		name += " ✗"
	}
	return name
}

func (r Row) failed() bool { return r.Span.Status.Code == codes.Error }
