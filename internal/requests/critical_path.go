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

// A PathPart is a period of the critical path. In this period, Span determined the duration of the
// request.
type PathPart struct {
	Span       *otlpenc.Span
	Start, End time.Duration // since the request's start
}

// CriticalPath returns the spans that determined the duration of the request, in order of time.
// Each moment of the request belongs to exactly one part. Adjacent parts belong to different spans.
//
// CriticalPath follows a span from end to start. At each moment, the path is in the running child
// that ends last. After the end of all children, the path is in the span. The same rules apply
// within a child.
//
// A span can wait only for children that end no later than the span. CriticalPath moves a child
// that ends later to the nearest span above that ends no earlier. The path omits spans that outlive
// the request and spans without a duration.
//
// Code below a measure of package marks may not use the measure's context. Therefore a span also
// counts as a child of a measure in one case. Both share a parent, and the span lies within the
// measure's time. The span may run on another goroutine.
func CriticalPath(q Request) []PathPart {
	p := pathFinder{start: q.Root.Start, children: q.awaitable()}
	p.follow(q.Root, 0, q.Duration())
	slices.Reverse(p.parts)
	return p.parts
}

// awaitable returns the children that each span can have waited for, by start.
func (q Request) awaitable() map[*otlpenc.Span][]child {
	all := map[*otlpenc.Span][]child{}
	var above []*otlpenc.Span // the spans above a row
	rows := Rows(q)
	for _, r := range rows {
		above = append(above[:r.Depth], r.Span)
		if r.Span.Duration() <= 0 {
			continue
		}
		for _, parent := range slices.Backward(above[:r.Depth]) {
			if !r.Span.End.After(parent.End) {
				all[parent] = append(all[parent], child{span: r.Span})
				break
			}
		}
	}
	for _, r := range rows {
		moveIntoMeasures(all, r.Span)
	}
	for _, children := range all {
		slices.SortStableFunc(children,
			func(a, b child) int { return a.span.Start.Compare(b.span.Start) })
		for i := range children {
			children[i].last = children[i].span
			if i > 0 && !children[i].span.End.After(children[i-1].last.End) {
				children[i].last = children[i-1].last
			}
		}
	}
	return all
}

// moveIntoMeasures moves each child of parent within the time of measures of parent to the shortest
// of these measures.
func moveIntoMeasures(all map[*otlpenc.Span][]child, parent *otlpenc.Span) {
	children := all[parent]
	slices.SortStableFunc(children,
		func(a, b child) int { return cmp.Compare(a.span.Duration(), b.span.Duration()) })
	var rest []child
	for i, c := range children {
		m := slices.IndexFunc(children[i+1:], func(m child) bool {
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

// A child is a span that the span above can have waited for.
type child struct {
	span *otlpenc.Span
	last *otlpenc.Span // ends last of span and the children that began before
}

type pathFinder struct {
	start    time.Time // of the request
	children map[*otlpenc.Span][]child
	parts    []PathPart // the latest first
}

// follow adds the parts between two times within s.
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

// A PathShare contains the time on a critical path of all spans with the same name and kind.
type PathShare struct {
	Name    string // see Row.Name
	Spans   int    // on the path
	Time    time.Duration
	Longest *otlpenc.Span // with the most time on the path
}

// PathShares adds up the times on a critical path by span name and kind. The largest time is first.
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

const maxShares = 3 // names in a line about the critical path

// pathLine returns a line with the largest shares of the critical path. The line is empty if the
// path consists of one span.
func (q Request) pathLine() string {
	shares := PathShares(CriticalPath(q))
	if len(shares) < 2 {
		return ""
	}
	var parts []string
	for _, s := range shares[:min(maxShares, len(shares))] {
		name := atMost(text.Escape(s.Name, ""), treeWidth)
		if s.Spans > 1 {
			name += fmt.Sprintf(" × %d", s.Spans)
		}
		percent := float64(s.Time) / float64(max(1, q.Duration())) * 100
		parts = append(parts, fmt.Sprintf("%s %.0f %%", name, percent))
	}
	return "critical path: " + strings.Join(parts, ", ")
}
