package sessions

import (
	"log/slog"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// A taken is a sample of the code, as the trees see it.
type taken struct {
	at    time.Duration // since the session began
	doing string
	span  trace.SpanID
	// weight is the CPU time that it stands for, or the wall time of all goroutines.
	weight time.Duration
}

// A level is an open event while samples are put into groups, or the top level.
type level struct {
	node  int32
	end   time.Duration
	span  trace.SpanID
	free  time.Duration // until when its own time is given to groups, or to what is below
	group int           // the one that may grow, or -1
}

// A group is a Samples event in the making.
type group struct {
	node
	count  int
	weight time.Duration
}

// groupSamples makes groups of samples, which are sorted, for a lane: consecutive ones of the same
// function in the same event are one. A sample stands for the time before it, up to interval, in
// which no other event was there.
func groupSamples(nodes []node, samples []taken, interval, cost time.Duration) []group {
	var groups []group
	levels := []level{{node: none, group: -1, free: math.MinInt64}}
	next := 0 // node
	pop := func() {
		top := levels[len(levels)-1]
		levels = levels[:len(levels)-1]
		up := &levels[len(levels)-1]
		up.free, up.group = max(up.free, top.end), -1
	}
	for _, s := range samples {
		for ; next < len(nodes) && nodes[next].start <= s.at; next++ {
			n := &nodes[next]
			if n.end == n.start {
				continue // a moment takes no time
			}
			for len(levels) > 1 && levels[len(levels)-1].node != n.parent {
				pop()
			}
			up := &levels[len(levels)-1]
			up.group = -1
			span := n.span
			if !span.IsValid() {
				span = up.span
			}
			levels = append(levels, level{node: int32(next), end: n.end, span: span, free: n.start, group: -1})
		}
		for len(levels) > 1 && levels[len(levels)-1].end < s.at {
			pop()
		}
		// The event that it was taken in: the innermost under its span.
		in, until := len(levels)-1, s.at
		for s.span.IsValid() && in > 0 && levels[in].span != s.span {
			until = min(until, nodes[levels[in].node].start)
			in--
		}
		l := &levels[in]
		until = max(l.free, until)
		from := min(until, max(l.free, s.at-interval, 0))
		if l.group < 0 || groups[l.group].name != s.doing {
			depth := int32(1)
			if l.node != none {
				depth = nodes[l.node].depth + 1
			}
			l.group = len(groups)
			groups = append(groups, group{node: node{
				start: from, name: s.doing, typ: Samples, parent: l.node, size: 1, depth: depth,
			}})
		}
		g := &groups[l.group]
		g.end, l.free = until, until
		g.self += until - from
		g.overhead += cost
		g.count++
		g.weight += s.weight
	}
	return groups
}

// merge puts groups among the nodes, in the order of the tree.
func merge(nodes []node, groups []group, p *progress) ([]node, error) {
	// The groups of each node, by start. Its other children are in the order of the tree.
	slices.SortStableFunc(groups, func(a, b group) int { return int(a.parent - b.parent) })
	of := func(parent int32) []group {
		from, _ := slices.BinarySearchFunc(groups, parent, func(g group, p int32) int { return int(g.parent - p) })
		to, _ := slices.BinarySearchFunc(groups, parent+1, func(g group, p int32) int { return int(g.parent - p) })
		return groups[from:to]
	}
	merged := make([]node, 0, len(nodes)+len(groups))
	type pending struct {
		old  int32 // node whose groups these are
		new  int32 // where it is in merged
		rest []group
	}
	stack := []pending{{old: none, new: none, rest: of(none)}}
	flush := func(p *pending, until time.Duration, all bool) {
		for len(p.rest) > 0 && (all || p.rest[0].start <= until) {
			g := p.rest[0]
			p.rest = p.rest[1:]
			g.parent = p.new
			if p.new != none {
				merged[p.new].children++
			}
			g.detail = []slog.Attr{slog.Int("samples", g.count), slog.Duration("weight", g.weight)}
			merged = append(merged, g.node)
		}
	}
	for i := range nodes {
		if i%sliceSize == 0 {
			if err := p.rest(); err != nil {
				return nil, err
			}
		}
		n := nodes[i]
		for stack[len(stack)-1].old != n.parent {
			flush(&stack[len(stack)-1], 0, true)
			stack = stack[:len(stack)-1]
		}
		top := &stack[len(stack)-1]
		flush(top, n.start, false)
		n.parent = top.new
		id := int32(len(merged))
		merged = append(merged, n)
		stack = append(stack, pending{old: int32(i), new: id, rest: of(int32(i))})
	}
	for len(stack) > 0 {
		flush(&stack[len(stack)-1], 0, true)
		stack = stack[:len(stack)-1]
	}
	return merged, nil
}
