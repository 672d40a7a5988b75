package sessions

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// none stands for no node: the top level.
const none = int32(-1)

// A node is an event in its timeline's list, which is in the order of the tree: each node
// before what is below it, and siblings by start. So it is by start, too.
type node struct {
	start, end       time.Duration
	self, overhead   time.Duration
	total, totalOver time.Duration // with all below
	name             string
	detail           []slog.Attr
	span             trace.SpanID // its own
	parent           int32        // index, or none
	size             int32        // how many nodes it is with all below
	depth            int32        // 1 at the top level
	children         uint32
	typ              EventType
}

func (n *node) length() time.Duration { return n.end - n.start }

// costs are what profiling makes the program pay, see [Event].Overhead.
type costs struct {
	entry  time.Duration // for recording an entry that nobody else wants
	label  time.Duration // for labelling a goroutine for a span
	sample time.Duration // for taking a sample
}

// An open is a node of a lane that has not ended where the sweep is.
type open struct {
	node        int32
	end, length time.Duration
	span        trace.SpanID // that is active in it
	above       trace.SpanID // the one that it was recorded under, if it is a span
}

// A lane is a timeline in the making: entries that may have been on one call stack.
type lane struct {
	nodes []node
	count int32 // of them; the places are given first, such that nodes need not grow
	stack []open
	apart bool // it has what was on none

	request bool // a request is in it
}

// A seat is where a record goes: a lane, below a node of it.
type seat struct{ lane, parent int32 }

// A grower makes the lanes of one frame.
type grower struct {
	costs costs
	p     *progress

	records []*record
	spans   map[trace.SpanID]*record // those that are spans
	seats   []seat                   // of records
	lanes   []*lane
	tops    []top // of each
	apart   int   // how many are for what was on no call stack
}

// maxApart is how many measures between marks a frame shows side by side. A program that
// measures since its start all the time would have a lane for each.
const maxApart = 64

// order sorts the records such that each comes after all that it may be below.
func (g *grower) order() error {
	type entry struct {
		r *record
		i int
		// early is set for the last moment of what began before: it precedes what begins then.
		early bool
	}
	indexed := make([]entry, len(g.records))
	for i, r := range g.records {
		if i%sliceSize == 0 {
			if err := g.p.rest(); err != nil {
				return err
			}
		}
		indexed[i] = entry{r: r, i: i}
		if r.point() {
			p := g.above(r)
			indexed[i].early = p != nil && p.start < r.start
		}
	}
	var err error
	n := 0
	slices.SortFunc(indexed, func(a, b entry) int {
		if n++; n%sliceSize == 0 && err == nil {
			err = g.p.rest()
		}
		if c := cmp.Compare(a.r.start, b.r.start); c != 0 || err != nil { // it is given up: the order does not matter
			return c
		}
		if a.early != b.early {
			if a.early {
				return -1
			}
			return 1
		}
		// What contains comes first; of equal ones that which was recorded last, as what calls
		// ends after what it called.
		return cmp.Or(cmp.Compare(b.r.end, a.r.end), cmp.Compare(b.i, a.i))
	})
	for i := range indexed {
		g.records[i] = indexed[i].r
	}
	return err
}

// grow puts each record into a lane, below what was on the call stack when it began.
func (g *grower) grow() error {
	g.spans = map[trace.SpanID]*record{}
	for _, r := range g.records {
		if err := g.p.after(1); err != nil {
			return err
		}
		if r.self.IsValid() {
			g.spans[r.self] = r
		}
	}
	if err := g.order(); err != nil {
		return err
	}
	g.seats = make([]seat, 0, len(g.records))
	looked := 0 // at lanes
	for _, r := range g.records {
		if err := g.p.after(1); err != nil {
			return err
		}
		if looked += len(g.lanes); looked >= sliceSize {
			looked = 0
			if err := g.p.rest(); err != nil {
				return err
			}
		}
		var under trace.SpanID
		if p := g.above(r); p != nil {
			under = p.self
		}
		at := g.lane(r, under)
		l := g.lanes[at]
		g.seats = append(g.seats, seat{int32(at), l.seat(r, under)})
		g.tops[at] = l.top()
	}
	for _, l := range g.lanes {
		l.nodes = make([]node, 0, l.count)
	}
	for i, r := range g.records {
		if err := g.p.after(1); err != nil {
			return err
		}
		g.lanes[g.seats[i].lane].add(r, g.seats[i].parent, g.costs)
	}
	slices.SortStableFunc(g.lanes, func(a, b *lane) int { return rank(a) - rank(b) })
	return nil
}

// rank puts lanes of call stacks before others.
func rank(l *lane) int {
	if l.apart {
		return 1
	}
	return 0
}

// maxEmpty is how many spans of no length are looked through for one that has a length. More
// are in nobody's program, but ids may be wrong, and go round in circles.
const maxEmpty = 64

// above is the span that a record is below, as far as there is an event of it that can have
// something below; nil if not.
func (g *grower) above(r *record) *record {
	id := r.parent
	for range maxEmpty {
		p := g.spans[id]
		if p == nil || p != r && !p.point() {
			return p
		}
		id = p.parent
	}
	return nil
}

// A top is what was opened last in a lane and has not ended: all that is asked of a lane to
// find the one that an entry goes to. There may be a thousand lanes to go through.
type top struct {
	end, length time.Duration
	span        trace.SpanID // that is active in it
	open        bool         // else nothing is
	apart       bool         // the lane's
}

// lane is where a record goes, an index: of the lanes where it is contained, under the span that it was
// recorded under, that where it is contained most tightly, else one where nothing is open. A span without
// a parent is contained in no other. What was on no call stack keeps to lanes of its own, and contains nothing.
func (g *grower) lane(r *record, under trace.SpanID) int {
	best, free := -1, -1
	whatever := !under.IsValid()
	root := r.self.IsValid() && !r.parent.IsValid()
	point := r.point()
	for i := range g.tops {
		t := &g.tops[i]
		if t.apart != r.apart {
			continue
		}
		if t.open && (t.end < r.start || t.end == r.start && !point) {
			g.lanes[i].close(r)
			*t = g.lanes[i].top()
		}
		switch {
		case !t.open:
			if free < 0 {
				free = i
			}
		case r.apart || t.end < r.end || !whatever && t.span != under:
		case root && t.span.IsValid():
		case whatever && r.parent.IsValid() && g.lanes[i].beside(r.parent):
		case best < 0 || t.length < g.tops[best].length:
			best = i
		}
	}
	if best >= 0 {
		return best
	}
	if free < 0 && r.apart && g.apart == maxApart {
		r.moment()
		free = slices.IndexFunc(g.tops, func(t top) bool { return t.apart })
	}
	if free < 0 {
		if r.apart {
			g.apart++
		}
		free = len(g.lanes)
		l := &lane{apart: r.apart}
		g.lanes, g.tops = append(g.lanes, l), append(g.tops, l.top())
	}
	return free
}

// beside reports whether a span is open that was recorded under that one: what was, too, is
// beside it, also where nothing else is known of the one above because it has not ended.
func (l *lane) beside(above trace.SpanID) bool {
	return slices.ContainsFunc(l.stack, func(o open) bool { return o.above == above })
}

func (l *lane) top() top {
	t := top{apart: l.apart}
	if n := len(l.stack); n > 0 {
		o := l.stack[n-1]
		t.end, t.length, t.span, t.open = o.end, o.length, o.span, true
	}
	return t
}

// close takes what has ended when a record begins off the stack. A moment at the end of
// something may still be its.
func (l *lane) close(r *record) {
	for n := len(l.stack); n > 0; n-- {
		if end := l.stack[n-1].end; end > r.start || end == r.start && r.point() {
			return
		}
		l.stack = l.stack[:n-1]
	}
}

// seat gives a record the lane's next place, and tells what it is below.
func (l *lane) seat(r *record, under trace.SpanID) (parent int32) {
	parent = none
	span := r.self
	if n := len(l.stack); n > 0 && !l.apart {
		parent = l.stack[n-1].node
		if !span.IsValid() && !under.IsValid() {
			under = l.stack[n-1].span
		}
	}
	if !span.IsValid() {
		span = under
	}
	if !r.point() {
		o := open{node: l.count, end: r.end, length: r.end - r.start, span: span}
		if r.self.IsValid() {
			o.above = r.parent
		}
		l.stack = append(l.stack, o)
	}
	l.request = l.request || r.typ == Request
	l.count++
	return parent
}

// add appends a record's node.
func (l *lane) add(r *record, parent int32, c costs) {
	n := node{
		start: r.start, end: r.end, name: r.name, detail: r.detail, span: r.self, parent: parent,
		size: 1, depth: 1, typ: r.typ,
	}
	if parent != none {
		p := &l.nodes[parent]
		p.children++
		n.depth = p.depth + 1
		if r.ours { // it was recorded when it ended, in the time of its parent
			p.overhead += c.entry
		}
	}
	if r.self.IsValid() {
		n.overhead = c.label
	}
	l.nodes = append(l.nodes, n)
}

// sum computes what the nodes' times are in themselves and with all below.
func sum(nodes []node, p *progress) error {
	for i := range nodes {
		n := &nodes[i]
		if n.typ != Samples { // those have the time that was found to be theirs
			n.self = n.length()
		}
		n.size = 1
	}
	if err := p.rest(); err != nil {
		return err
	}
	// The time of what is below is not a node's own. Moments have none.
	for i := range nodes {
		n := &nodes[i]
		if n.parent == none {
			continue
		}
		if n.typ == Samples {
			nodes[n.parent].self -= n.self
		} else {
			nodes[n.parent].self -= n.length()
		}
	}
	if err := p.rest(); err != nil {
		return err
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		n.overhead = max(0, min(n.overhead, n.self))
		n.self -= n.overhead
		n.total += n.self
		n.totalOver += n.overhead
		if n.parent != none {
			p := &nodes[n.parent]
			p.total += n.total
			p.totalOver += n.totalOver
			p.size += n.size
		}
	}
	return p.rest()
}
