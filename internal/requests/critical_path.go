package requests

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/text"
)

// A PathPart is a part of the critical path: a time in which a span determined the duration of its
// request.
type PathPart struct {
	Span       *otlpenc.Span
	Start, End time.Duration // since the request's start
}

// CriticalPath returns the spans that determined how long the request took, by time. The parts
// cover the time from the request's start to its end exactly once. Neighbours are of different
// spans.
//
// The path is followed from the end to the start. At each moment it is in the child that ends last
// of the children that have begun, and in the span itself after all of them ended. A part has the
// child's own children in it by the same rule.
//
// A span can wait only for a child that ends no later than itself. A child that ends later counts
// as a child of the nearest span above that ends no earlier. A span that outlives the request is
// not on the path. Neither are spans without a duration.
//
// A measure of package marks may have no children, because code in it need not have its context.
// Spans with the same parent that lie within its time count as its children, also if they are of
// another goroutine.
func CriticalPath(q Request) []PathPart {
	p := pathFinder{start: q.Root.Start, children: q.awaited()}
	p.follow(q.Root, 0, q.Duration())
	slices.Reverse(p.parts)
	return p.parts
}

// awaited returns the children that each span can have waited for, by start.
func (q Request) awaited() map[*otlpenc.Span][]awaitedSpan {
	all := map[*otlpenc.Span][]awaitedSpan{}
	var above []*otlpenc.Span // the spans above a row
	rows := Rows(q)
	for _, r := range rows {
		above = append(above[:r.Depth], r.Span)
		if r.Span.Duration() <= 0 {
			continue
		}
		for _, parent := range slices.Backward(above[:r.Depth]) {
			if !r.Span.End.After(parent.End) {
				all[parent] = append(all[parent], awaitedSpan{span: r.Span})
				break
			}
		}
	}
	for _, r := range rows {
		withinMeasures(all, r.Span)
	}
	for _, children := range all {
		slices.SortStableFunc(children,
			func(a, b awaitedSpan) int { return a.span.Start.Compare(b.span.Start) })
		for i := range children {
			children[i].last = children[i].span
			if i > 0 && !children[i].span.End.After(children[i-1].last.End) {
				children[i].last = children[i-1].last
			}
		}
	}
	return all
}

// withinMeasures makes the children of a span that lie within measures below it the children of the
// shortest of these.
func withinMeasures(all map[*otlpenc.Span][]awaitedSpan, parent *otlpenc.Span) {
	children := all[parent]
	shorter := func(a, b awaitedSpan) int {
		return cmp.Compare(a.span.Duration(),
			b.span.Duration())
	}
	slices.SortStableFunc(children, shorter)
	var rest []awaitedSpan
	for i, c := range children {
		m := slices.IndexFunc(children[i+1:], func(m awaitedSpan) bool {
			return isMeasure(m.span) && !m.span.Start.After(c.span.Start) &&
				!m.span.End.Before(c.span.End)
		})
		if m < 0 {
			rest = append(rest, c)
			continue
		}
		measure := children[i+1+m].span
		all[measure] = append(all[measure], c)
	}
	all[parent] = rest
}

// An awaitedSpan is a child of a span.
type awaitedSpan struct {
	span *otlpenc.Span
	last *otlpenc.Span // ends last of this one and those that began before it
}

type pathFinder struct {
	start    time.Time // of the request
	children map[*otlpenc.Span][]awaitedSpan
	parts    []PathPart // the last first
}

// follow adds the parts from one time to another, which s encloses.
func (p *pathFinder) follow(s *otlpenc.Span, from, to time.Duration) {
	children := p.children[s]
	for to > from {
		begun := sort.Search(len(children),
			func(i int) bool { return children[i].span.Start.Sub(p.start) >= to })
		if begun == 0 {
			break
		}
		last := children[begun-1].last
		start, end := max(from, last.Start.Sub(p.start)), min(to, last.End.Sub(p.start))
		if end <= from {
			break
		}
		p.add(s, end, to)
		p.follow(last, start, end)
		to = start
	}
	p.add(s, from, to)
}

func (p *pathFinder) add(s *otlpenc.Span, from, to time.Duration) {
	if to <= from {
		return
	}
	if n := len(p.parts); n > 0 && p.parts[n-1].Span == s && p.parts[n-1].Start == to {
		p.parts[n-1].Start = from
		return
	}
	p.parts = append(p.parts, PathPart{s, from, to})
}

// A PathShare is what equal spans have of the critical path.
type PathShare struct {
	Name    string // see Row.Name
	Spans   int    // of that name and kind, on the path
	Time    time.Duration
	Longest *otlpenc.Span // has the most time of them
}

// PathShares sums up a critical path by the names and kinds of its spans, the largest time first.
func PathShares(path []PathPart) []PathShare {
	times := map[*otlpenc.Span]time.Duration{}
	var spans []*otlpenc.Span
	for _, part := range path {
		if times[part.Span] == 0 {
			spans = append(spans, part.Span)
		}
		times[part.Span] += part.End - part.Start
	}
	type key struct {
		name string
		kind trace.SpanKind
	}
	at := map[key]int{}
	var shares []PathShare
	for _, s := range spans {
		k := key{Row{Span: s}.Name(), s.Kind}
		i, known := at[k]
		if !known {
			i = len(shares)
			at[k] = i
			shares = append(shares, PathShare{Name: k.name, Longest: s})
		}
		share := &shares[i]
		share.Spans++
		share.Time += times[s]
		if times[s] > times[share.Longest] {
			share.Longest = s
		}
	}
	slices.SortStableFunc(shares, func(a, b PathShare) int { return cmp.Compare(b.Time, a.Time) })
	return shares
}

// mostShares is the number of names that a line about the critical path has.
const mostShares = 3

// pathLine returns the critical path in a line: its largest shares. It is empty if the path has one
// span.
func (q Request) pathLine() string {
	shares := PathShares(CriticalPath(q))
	if len(shares) < 2 {
		return ""
	}
	var parts []string
	for _, s := range shares[:min(mostShares, len(shares))] {
		name := atMost(text.Escape(s.Name, ""), treeWidth)
		if s.Spans > 1 {
			name += fmt.Sprintf(" × %d", s.Spans)
		}
		parts = append(parts,
			fmt.Sprintf("%s %.0f %%", name, float64(s.Time)/float64(max(1, q.Duration()))*100))
	}
	return "critical path: " + strings.Join(parts, ", ")
}
