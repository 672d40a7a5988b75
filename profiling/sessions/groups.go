package sessions

import (
	"cmp"
	"log/slog"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// A sample is the part of a trace's sample that grouping needs.
type sample struct {
	at       time.Duration // since the session began
	function string
	span     trace.SpanID
	weight   time.Duration // CPU time, or wall time of all goroutines
}

// shareWeight returns the weight for shares of a tick. Forced samples have no weight, but a share.
func (s *sample) shareWeight() time.Duration { return max(1, s.weight) }

// A level is an open event, or the top level, during grouping.
type level struct {
	node int32
	end  time.Duration
	span trace.SpanID
	used time.Duration // groups and events below cover the event's time until here
	// ticks is the number of ticks with samples in the event. The begin and the end of an event
	// below count, too, so that groups end there.
	ticks int

	// The current tick stands for the event's own time between from and until. weight is the weight
	// of the tick's samples in the event. shared is the part of weight that groups have received.
	from, until    time.Duration
	weight, shared time.Duration
}

func (l *level) share(weight time.Duration) time.Duration {
	return time.Duration(float64(l.until-l.from) * (float64(weight) / float64(l.weight)))
}

// A group becomes a Samples event.
type group struct {
	node
	count    int
	weight   time.Duration
	lastTick int // of its level
}

// A grouper visits the nodes and the samples of a lane by time.
type grouper struct {
	nodes  []node
	next   int     // index of the first node that has not begun
	levels []level // the top level, and the open events
	groups []group
	newest map[groupKey]int // indexes in groups
}

type groupKey struct {
	node     int32
	function string
}

// groupSamples returns the groups for the samples of a lane, which are sorted by time.
//
// Simultaneous samples are a tick: one sample by the CPU's clock, one sample for each goroutine by
// the wall clock. A tick stands for the preceding time, up to interval, in which no other event was
// open. Its samples in an event share that time by weight. A group contains consecutive samples of
// one function in an event, and ends before a tick of the event without the function. Each sample
// adds cost to the overhead.
func groupSamples(nodes []node, samples []sample, interval, cost time.Duration) []group {
	g := &grouper{
		nodes: nodes, levels: []level{{node: none, used: math.MinInt64}},
		newest: map[groupKey]int{},
	}
	var in []int // the levels of a tick's samples
	for len(samples) > 0 {
		n := 1
		for n < len(samples) && samples[n].at == samples[0].at {
			n++
		}
		tick := samples[:n]
		samples = samples[n:]
		g.advance(tick[0].at)
		in = in[:0]
		for i := range tick {
			in = append(in, g.locate(&tick[i], interval))
		}
		for i := range tick {
			g.add(&tick[i], &g.levels[in[i]], cost)
		}
	}
	return g.groups
}

// advance opens the events that have begun by at, and closes events that ended before.
func (g *grouper) advance(at time.Duration) {
	for ; g.next < len(g.nodes) && g.nodes[g.next].start <= at; g.next++ {
		n := &g.nodes[g.next]
		if n.end == n.start {
			continue // a moment takes no time
		}
		for len(g.levels) > 1 && g.levels[len(g.levels)-1].node != n.parent {
			g.pop()
		}
		up := &g.levels[len(g.levels)-1]
		up.ticks++
		span := n.span
		if !span.IsValid() {
			span = up.span
		}
		g.levels = append(g.levels,
			level{node: int32(g.next), end: n.end, span: span, used: n.start})
	}
	for len(g.levels) > 1 && g.levels[len(g.levels)-1].end < at {
		g.pop()
	}
}

func (g *grouper) pop() {
	last := len(g.levels) - 1
	up := &g.levels[last-1]
	up.used = g.levels[last].end
	up.ticks++
	g.levels = g.levels[:last]
}

// locate adds a sample to the tick of the innermost event under its span, and returns the level.
func (g *grouper) locate(s *sample, interval time.Duration) int {
	k, until := len(g.levels)-1, s.at
	for s.span.IsValid() && k > 0 && g.levels[k].span != s.span {
		until = min(until, g.nodes[g.levels[k].node].start)
		k--
	}
	l := &g.levels[k]
	if l.weight == 0 { // the tick's first sample here
		l.until = until
		l.from = min(until, max(l.used, s.at-interval, 0))
		l.used = until
		l.ticks++
	}
	l.weight += s.shareWeight()
	return k
}

// add adds a sample to its group, or to a new group if the previous tick lacked the function.
func (g *grouper) add(s *sample, l *level, cost time.Duration) {
	key := groupKey{l.node, s.function}
	i, known := g.newest[key]
	if !known || g.groups[i].lastTick < l.ticks-1 {
		i = len(g.groups)
		g.newest[key] = i
		depth := int32(1)
		if l.node != none {
			depth = g.nodes[l.node].depth + 1
		}
		g.groups = append(g.groups, group{node: node{
			start: l.from, name: s.function, typ: Samples, parent: l.node, depth: depth,
		}})
	}
	to := &g.groups[i]
	to.lastTick = l.ticks
	to.end = l.until
	to.self -= l.share(l.shared)
	l.shared += s.shareWeight()
	to.self += l.share(l.shared)
	to.overhead += cost
	to.count++
	to.weight += s.weight
	if l.shared == l.weight { // the tick's last sample here
		l.weight, l.shared = 0, 0
	}
}

func mergeGroups(nodes []node, groups []group) []node {
	// The groups of a node are sorted by start, as its other children are.
	byParent := func(g group, parent int32) int { return cmp.Compare(g.parent, parent) }
	slices.SortStableFunc(groups, func(a, b group) int { return byParent(a, b.parent) })
	groupsOf := func(parent int32) []group {
		from, _ := slices.BinarySearchFunc(groups, parent, byParent)
		to, _ := slices.BinarySearchFunc(groups, parent+1, byParent)
		return groups[from:to]
	}
	merged := make([]node, 0, len(nodes)+len(groups))
	type openNode struct {
		from, to int32   // indexes in nodes and in merged
		groups   []group // not merged yet
	}
	stack := []openNode{{from: none, to: none, groups: groupsOf(none)}}
	flush := func(until time.Duration) {
		top := &stack[len(stack)-1]
		for len(top.groups) > 0 && top.groups[0].start <= until {
			g := top.groups[0]
			top.groups = top.groups[1:]
			g.parent = top.to
			if top.to != none {
				merged[top.to].children++
			}
			g.detail = []slog.Attr{slog.Int("samples", g.count), slog.Duration("weight", g.weight)}
			merged = append(merged, g.node)
		}
	}
	pop := func() {
		flush(math.MaxInt64)
		stack = stack[:len(stack)-1]
	}
	for i, n := range nodes {
		for stack[len(stack)-1].from != n.parent {
			pop()
		}
		flush(n.start)
		n.parent = stack[len(stack)-1].to
		stack = append(stack,
			openNode{from: int32(i), to: int32(len(merged)), groups: groupsOf(int32(i))})
		merged = append(merged, n)
	}
	for len(stack) > 0 {
		pop()
	}
	return merged
}
