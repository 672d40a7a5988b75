package analysis

import (
	"iter"
	"sort"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/waits"
)

// A piece is a part of a segment, or a gap, of one kind.
type piece struct {
	segment
	kind  waits.Kind
	index int           // of the segment in goroutine.records; -1 for a gap
	calls []waits.Frame // of the inner span
}

// stepsPerPause is a number of pieces that take less than a millisecond.
const stepsPerPause = 100

// pieces yields the pieces of g in [from, to). With gaps, the pieces cover the whole time.
func (a *analyzer) pieces(g *goroutine, from, to xtrace.Time, gaps bool) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		at := from
		gap := func(until xtrace.Time) bool {
			start := at
			at = until
			if !gaps || start >= until {
				return true
			}
			s := segment{start: start, end: until}
			return yield(piece{segment: s, kind: waits.Gap, index: -1})
		}
		first, end := g.segments(from, to)
		for i := first; i < end; i++ {
			if a.steps++; a.steps%stepsPerPause == 0 {
				a.pause()
			}
			s := a.segment(g, i)
			s.start, s.end = max(s.start, from), min(s.end, to)
			p := piece{segment: s, kind: s.kind(a.stacks), index: i}
			if !gap(s.start) || !a.split(g, p, yield) {
				return
			}
			at = s.end
		}
		gap(to)
	}
}

// split yields a piece in parts, divided by stops of the world.
func (a *analyzer) split(g *goroutine, p piece, yield func(piece) bool) bool {
	if p.kind != waits.Runnable && p.kind != waits.OnCPU {
		return yield(p)
	}
	rest := p
	stops := a.stopsIn(p.start, p.end)
	for i := range stops {
		s := &stops[i]
		// s.by runs during its stop. Other running goroutines have not been stopped yet.
		if s.end <= rest.start || s.start >= rest.end || p.kind == waits.OnCPU && s.by != g {
			continue
		}
		if s.start > rest.start {
			part := rest
			part.end = s.start
			if !yield(part) {
				return false
			}
		}
		part := rest
		part.kind = waits.StopTheWorld
		part.start, part.end = max(rest.start, s.start), min(rest.end, s.end)
		part.wake, part.stack = &s.wake, s.wake.stack
		if !yield(part) {
			return false
		}
		rest.start = part.end
	}
	return rest.start >= rest.end || yield(rest)
}

// stopsIn returns the stops that overlap with [from, to), by time. Stops are disjoint.
func (a *analyzer) stopsIn(from, to xtrace.Time) []stop {
	first := sort.Search(len(a.stops), func(i int) bool { return a.stops[i].end > from })
	end := first
	for end < len(a.stops) && a.stops[end].start < to {
		end++
	}
	return a.stops[first:end]
}
