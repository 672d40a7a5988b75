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

// heft is how much of a tick is the sample's: traces read from JSON have no weights.
func (t *taken) heft() time.Duration { return max(1, t.weight) }

// A level is an open event while samples are put into groups, or the top level.
type level struct {
	node int32
	end  time.Duration
	span trace.SpanID
	free time.Duration // until when its own time is given to groups, or to what is below
	// ticks counts the ticks that had samples in it, and what ends its groups.
	ticks int

	// Of the tick that is looked at: the level's time that it stands for, the weight of its samples here,
	// and of those that were given their share.
	from, until   time.Duration
	weight, given time.Duration
}

// share is how much of a tick's time samples of some weight have.
func (l *level) share(weight time.Duration) time.Duration {
	return time.Duration(float64(l.until-l.from) * (float64(weight) / float64(l.weight)))
}

// A group is a Samples event in the making.
type group struct {
	node
	count  int
	weight time.Duration
	tick   int // of its level, in which it grew last
}

// A function is what a group is of: code in an event.
type function struct {
	node int32
	name string
}

// groupSamples makes groups of samples, which are sorted, for a lane. Those taken at the same time are a
// tick: of the CPU one sample, by the wall clock one for each goroutine. A tick stands for the time
// before it, up to interval, in which no other event was there, and its samples in an event share that
// by their weight. A group is of a function in an event, as long as that is in each of the event's ticks.
func groupSamples(nodes []node, samples []taken, interval, cost time.Duration) []group {
	var groups []group
	newest := map[function]int{}
	levels := []level{{node: none, free: math.MinInt64}}
	next := 0 // node
	pop := func() {
		top := levels[len(levels)-1]
		levels = levels[:len(levels)-1]
		up := &levels[len(levels)-1]
		up.free = top.end
		up.ticks++
	}
	var in []int // levels that the samples of a tick were taken in
	for len(samples) > 0 {
		at, n := samples[0].at, 1
		for n < len(samples) && samples[n].at == at {
			n++
		}
		tick := samples[:n]
		samples = samples[n:]
		for ; next < len(nodes) && nodes[next].start <= at; next++ {
			n := &nodes[next]
			if n.end == n.start {
				continue // a moment takes no time
			}
			for len(levels) > 1 && levels[len(levels)-1].node != n.parent {
				pop()
			}
			up := &levels[len(levels)-1]
			up.ticks++
			span := n.span
			if !span.IsValid() {
				span = up.span
			}
			levels = append(levels, level{node: int32(next), end: n.end, span: span, free: n.start})
		}
		for len(levels) > 1 && levels[len(levels)-1].end < at {
			pop()
		}
		in = in[:0]
		for i := range tick {
			// The event that it was taken in: the innermost under its span.
			span, k, until := tick[i].span, len(levels)-1, at
			for span.IsValid() && k > 0 && levels[k].span != span {
				until = min(until, nodes[levels[k].node].start)
				k--
			}
			in = append(in, k)
			l := &levels[k]
			if l.weight == 0 { // the tick's first here
				l.until = until
				l.from = min(l.until, max(l.free, at-interval, 0))
				l.free = l.until
				l.ticks++
			}
			l.weight += tick[i].heft()
		}
		for i := range tick {
			s, l := &tick[i], &levels[in[i]]
			of := function{l.node, s.doing}
			id, known := newest[of]
			if !known || groups[id].tick < l.ticks-1 {
				id = len(groups)
				newest[of] = id
				depth := int32(1)
				if l.node != none {
					depth = nodes[l.node].depth + 1
				}
				groups = append(groups, group{node: node{
					start: l.from, name: s.doing, typ: Samples, parent: l.node, size: 1, depth: depth,
				}})
			}
			g := &groups[id]
			g.tick = l.ticks
			g.end = l.until
			g.self -= l.share(l.given)
			l.given += s.heft()
			g.self += l.share(l.given)
			g.overhead += cost
			g.count++
			g.weight += s.weight
			if l.given == l.weight {
				l.weight, l.given = 0, 0
			}
		}
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
