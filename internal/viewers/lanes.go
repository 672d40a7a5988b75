package viewers

import (
	"cmp"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
)

// A laneTree arranges the spans of a request in lanes. Two spans of a lane are nested or apart:
// viewers misplace overlapping spans, or refuse the file. A span goes to the lane of its parent if
// the span fits there, and otherwise to the first free lane. The first lane starts with the request
// itself.
type laneTree struct {
	lanes   [][]*otlpenc.Span // by start, and then the outer span first
	of      map[*otlpenc.Span]int
	parents map[*otlpenc.Span]*otlpenc.Span
}

func newLaneTree(q requests.Request) *laneTree {
	t := &laneTree{of: map[*otlpenc.Span]int{}, parents: map[*otlpenc.Span]*otlpenc.Span{}}
	depths := map[*otlpenc.Span]int{}
	var spans, above []*otlpenc.Span
	for _, row := range requests.Rows(q) {
		above = append(above[:row.Depth], row.Span)
		if row.Depth > 0 {
			t.parents[row.Span] = above[row.Depth-1]
		}
		depths[row.Span] = row.Depth
		spans = append(spans, row.Span)
	}
	slices.SortStableFunc(spans[1:], func(a, b *otlpenc.Span) int {
		return cmp.Or(a.Start.Compare(b.Start), endOf(b).Compare(endOf(a)),
			cmp.Compare(depths[a], depths[b]))
	})
	var open [][]*otlpenc.Span // by lane, the innermost last
	for _, s := range spans {
		for i, stack := range open {
			for len(stack) > 0 && !endOf(stack[len(stack)-1]).After(s.Start) {
				stack = stack[:len(stack)-1]
			}
			open[i] = stack
		}
		lane := t.place(s, open)
		if lane == len(t.lanes) {
			t.lanes, open = append(t.lanes, nil), append(open, nil)
		}
		t.lanes[lane], open[lane], t.of[s] = append(t.lanes[lane], s), append(open[lane], s), lane
	}
	return t
}

// place returns the lane for a span. open holds the open spans of each lane at its start.
func (t *laneTree) place(s *otlpenc.Span, open [][]*otlpenc.Span) int {
	if len(open) == 0 {
		return 0
	}
	parent := t.parents[s]
	if lane, placed := t.of[parent]; placed {
		stack := open[lane]
		if len(stack) > 0 && stack[len(stack)-1] == parent && !s.Start.Before(parent.Start) &&
			!endOf(s).After(endOf(parent)) {
			return lane
		}
	}
	for lane := 1; lane < len(open); lane++ {
		if len(open[lane]) == 0 {
			return lane
		}
	}
	return len(open)
}

// endOf returns the end of a span. A span that ends before its start ends at its start.
func endOf(s *otlpenc.Span) time.Time {
	if s.End.Before(s.Start) {
		return s.Start
	}
	return s.End
}
