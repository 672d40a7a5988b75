package analysis

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// An inner is an ended span that started on the goroutine of its parent. The trace notes inner
// spans only at their end: until then, the goroutine works for the enclosing span.
type inner struct {
	id         trace.SpanID
	name       string
	root       *root // nil if the root started before the trace
	start, end xtrace.Time
	stack      stackID // at the end; zero if the span ended on another goroutine
}

func (a *analyzer) endInner(event *xtrace.Event, n tracelog.Note) {
	g := a.goroutines[xtrace.GoID(n.Goroutine)]
	if g == nil || a.clock == nil {
		return
	}
	zero := a.clock.Trace - xtrace.Time(a.clock.Mono) //nolint:gosec // since the machine's start
	start, end := zero+xtrace.Time(n.Start), min(zero+xtrace.Time(n.End), event.Time())
	i := inner{id: n.SpanID, name: n.Name, start: start, end: end}
	if i.start >= i.end || i.start < g.servedUntil || !overlap(a.windows, i.start, i.end) {
		return // may belong to an earlier request
	}
	if around := g.owner.current(); around != nil {
		i.root = around.root
	}
	if event.Goroutine() == g.id {
		i.stack = a.stacks.id(event.Stack())
	}
	g.inner = append(g.inner, i)
}

// A stretch is a time in which a goroutine worked for an inner span, and none within.
type stretch struct {
	start, end xtrace.Time
	span       *span
	calls      []waits.Frame // known calls during the whole time
}

// stretches returns the times of a goroutine for inner spans of the request, in order and disjoint.
func (b *builder) stretches(g *goroutine) []stretch {
	if all, ok := b.inner[g]; ok || len(g.inner) == 0 {
		return all
	}
	var starts []stretch
	for _, i := range g.inner {
		if i.root != nil && i.root.within(b.root) || i.root == nil && g == b.root.server {
			b.root.names[i.id] = i.name
			s := &span{id: i.id, root: b.root, start: i.start}
			calls := fromProgram(b.stacks.frames(i.stack))
			starts = append(starts, stretch{i.start, i.end, s, calls})
		}
	}
	slices.SortStableFunc(starts, func(x, y stretch) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end))
	})
	var all, open []stretch
	at := xtrace.Time(0)
	until := func(end xtrace.Time) {
		for len(open) > 0 {
			last := open[len(open)-1]
			if last.end <= at {
				open = open[:len(open)-1]
				continue
			}
			if at >= end {
				break
			}
			last.start, last.end = at, min(last.end, end)
			all = append(all, last)
			at = last.end
		}
		at = max(at, end)
	}
	for _, s := range starts {
		until(s.start)
		open = append(open, s)
	}
	until(math.MaxInt64)
	b.inner[g] = all
	return all
}

// fromProgram returns the calls from the innermost function outside the standard library on.
func fromProgram(frames []waits.Frame) []waits.Frame {
	for len(frames) > 0 && waiting.Standard(frames[0].Function) {
		frames = frames[1:]
	}
	return frames
}

// pieces yields the pieces of [analyzer.pieces], divided among the inner spans of the request.
func (b *builder) pieces(g *goroutine, from, to xtrace.Time, gaps bool) iter.Seq[piece] {
	all, stretches := b.analyzer.pieces(g, from, to, gaps), b.stretches(g)
	return func(yield func(piece) bool) {
		for p := range all {
			if !b.refine(g, p, stretches, yield) {
				return
			}
		}
	}
}

// resolve returns the span of the passer when it passed s on, which may be an inner span.
func (b *builder) resolve(s *span) *span {
	for s != nil && s.passer != nil {
		all := b.stretches(s.passer)
		i := sort.Search(len(all), func(i int) bool { return all[i].end > s.at })
		if i < len(all) && all[i].start <= s.at && all[i].span.start >= s.start {
			return all[i].span
		}
		s = s.parent
	}
	return s
}

// refine yields a piece with its innermost spans. A goroutine must run to start or end a span.
// Therefore only a piece on the processor may have several spans.
func (b *builder) refine(g *goroutine, p piece, stretches []stretch, yield func(piece) bool) bool {
	otherRoot := p.span != nil && !p.span.root.within(b.root)
	if p.index < 0 || otherRoot || p.span == nil && g != b.root.server {
		return yield(p)
	}
	p.span = b.resolve(p.span)
	from, to := p.start, p.end
	if p.kind != waits.OnCPU {
		from += (p.end - p.start) / 2
		to = from + 1
	}
	rest := p
	i := sort.Search(len(stretches), func(i int) bool { return stretches[i].end > from })
	for ; i < len(stretches) && stretches[i].start < to; i++ {
		s := &stretches[i]
		if p.span != nil && s.span.start < p.span.start {
			continue
		}
		part := rest
		part.span, part.calls = s.span, s.calls
		if p.kind != waits.OnCPU {
			return yield(part)
		}
		if before := rest; s.start > rest.start {
			before.end = s.start
			if !yield(before) {
				return false
			}
		}
		part.start, part.end = max(rest.start, s.start), min(rest.end, s.end)
		if rest.start = part.end; !yield(part) {
			return false
		}
	}
	return rest.start >= rest.end || yield(rest)
}
