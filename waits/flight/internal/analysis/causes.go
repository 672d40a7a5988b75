package analysis

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/waits"
)

// maxDepth is the longest chain of goroutines that wait for each other.
const maxDepth = 32

// freeProcessor is the longest time in which the runtime starts a ready goroutine on a free
// processor; microseconds are usual. In a longer wait, the operating system did not run the thread.
const freeProcessor = time.Millisecond

// A place is the part of the request that waits for the followed goroutine.
type place struct {
	function string       // of the nearest goroutine with a known function
	spanID   trace.SpanID // of the request
	depth    int
}

// A cause collects the parts of a waits.Cause.
type cause struct {
	kind      waits.Kind
	limit     float64 // of a CPULimit
	duration  time.Duration
	functions votes[string]
	spans     votes[trace.SpanID]
	parties   map[partyKey]*partyShare
	calls     calls
}

type partyKey struct{ function, request string }

type partyShare struct {
	party    *waits.Party
	longest  time.Duration // of the wait for this party
	duration time.Duration
}

// A causeKey identifies a cause.
type causeKey struct {
	kind     waits.Kind
	by       partyKey     // of mutexes, pools and channels
	function string       // of waits for things outside the process
	span     trace.SpanID // of waits for things outside the process
}

func (b *builder) causes() []waits.Cause {
	c := &collector{builder: b, causes: map[causeKey]*cause{}}
	c.follow(b.root.server, b.servingPieces(), place{spanID: b.root.id}, nil)
	list := make([]waits.Cause, 0, len(c.causes))
	for _, cause := range c.causes {
		list = append(list, cause.result(b.root))
	}
	slices.SortFunc(list, func(x, y waits.Cause) int {
		return cmp.Or(
			cmp.Compare(y.Duration, x.Duration), cmp.Compare(x.Kind, y.Kind),
			cmp.Compare(x.Function, y.Function), cmp.Compare(x.Span, y.Span),
			slices.Compare(x.SpanID[:], y.SpanID[:]),
			cmp.Compare(byFunction(x.By), byFunction(y.By)))
	})
	return list
}

func byFunction(p *waits.Party) string {
	if p == nil {
		return ""
	}
	return p.Function + " " + p.Request
}

// A collector collects the causes of a request.
type collector struct {
	*builder
	causes map[causeKey]*cause
}

// follow attributes the time of pieces of g to g's activities. waiting is the wait for g, or nil:
// the wait explains time outside g's records, which is a gap otherwise.
func (c *collector) follow(g *goroutine, pieces iter.Seq[piece], at place, waiting *piece) {
	for p := range pieces {
		here := at
		if p.span != nil && p.span.root == c.root {
			here.spanID = p.span.id
		}
		if p.index >= 0 && p.kind != waits.StopTheWorld {
			if f := innermost(c.calls(g, p)); f != "" {
				here.function = f
			}
		}
		switch p.kind {
		case waits.Gap:
			c.addGap(g, p, here, waiting)
		case waits.OnCPU:
			c.addRunning(g, p, here)
		case waits.Runnable:
			c.addRunnable(g, p, here)
		case waits.Mutex:
			c.addHolders(p, here)
		case waits.Pool:
			if p.wake != nil && c.stacks.opensConnection(p.wake.stack) {
				c.addDependency(p, here) // on the new connection
			} else {
				c.addHolders(p, here)
			}
		case waits.GCAssist:
			c.add(causeKey{kind: waits.GarbageCollection}, p, here, nil)
		case waits.StopTheWorld:
			c.addStop(p, here)
		case waits.Network, waits.File, waits.Timer, waits.Syscall:
			c.add(causeKey{kind: p.kind, function: here.function, span: here.spanID}, p, here, nil)
		case waits.ChannelSend:
			c.addBlame(p, here)
		default:
			c.addDependency(p, here)
		}
	}
}

func (c *collector) addGap(g *goroutine, p piece, at place, waiting *piece) {
	if waiting == nil {
		c.add(causeKey{kind: waits.Gap}, p, at, nil)
		return
	}
	at.depth++
	switch before := g.created && (len(g.records) == 0 || p.end <= g.records[0].start); {
	case before && g.creator != nil && at.depth < maxDepth:
		c.follow(g.creator, c.pieces(g.creator, p.start, p.end, true), at, waiting)
	case before: // package time creates goroutines for time.AfterFunc
		c.add(causeKey{kind: waits.Timer, function: at.function, span: at.spanID}, p, at, nil)
	default:
		w := *waiting
		w.start, w.end = p.start, p.end
		c.addBlame(w, at)
	}
}

// addDependency attributes a wait for the work of another goroutine to that goroutine's activities.
func (c *collector) addDependency(p piece, at place) {
	if at.depth++; p.wake == nil || p.wake.by == nil || at.depth >= maxDepth {
		c.addBlame(p, at)
		return
	}
	c.follow(p.wake.by, c.pieces(p.wake.by, p.start, p.end, true), at, &p)
}

// addBlame attributes a wait to the goroutine that ended the wait.
func (c *collector) addBlame(p piece, at place) {
	var by *waits.Party
	key := causeKey{kind: p.kind, function: at.function}
	if p.wake != nil && p.wake.by != nil {
		by = c.party(p.wake)
		key = causeKey{kind: p.kind, by: partyKey{by.Function, by.Request}}
	}
	c.add(key, p, at, by)
}

// addHolders attributes a wait for a mutex or for a connection to its holders. The last holder
// ended the wait. If the last holder waited, too, an earlier holder counts before.
func (c *collector) addHolders(p piece, at place) {
	for steps := 0; p.wake != nil && p.wake.by != nil && steps < maxDepth; steps++ {
		earlier, ok := c.lastWait(p)
		if !ok {
			break
		}
		own := p
		own.start = earlier.end
		c.addBlame(own, at)
		p.end, p.wake = earlier.end, earlier.wake
	}
	c.addBlame(p, at)
}

// lastWait returns the last wait of the goroutine that ended p, of the same kind and within p.
func (c *collector) lastWait(p piece) (segment, bool) {
	g := p.wake.by
	first, end := g.segments(p.start, p.end)
	for i := end - 1; i >= first; i-- {
		s := c.segment(g, i)
		if s.activity >= waitingUnknown && s.kind(c.stacks) == p.kind && s.wake != nil &&
			s.end < p.end {
			return s, true
		}
	}
	return segment{}, false
}

func (c *collector) addStop(p piece, at place) {
	for _, s := range c.stopsIn(p.start, p.end) {
		if s.collector {
			c.add(causeKey{kind: waits.GarbageCollection}, p, at, nil)
			return
		}
	}
	c.addBlame(p, at)
}

func (c *collector) addRunning(g *goroutine, p piece, at place) {
	p = c.subtractLacks(p, at)
	if p.start >= p.end {
		return
	}
	key, by := causeKey{kind: waits.OnCPU}, (*waits.Party)(nil)
	if p.span != nil && p.span.root != c.root {
		by = &waits.Party{Goroutine: uint64(g.id), Function: at.function, Stack: c.calls(g, p)}
		setRequest(by, p.span)
		key.by.request = by.Request
	}
	cause := c.add(key, p, at, by)
	cause.calls.add(c.calls(g, p), p.end.Sub(p.start), g.records[p.index].isExact())
}

// subtractLacks attributes time in which the system did not run the process, and returns the rest.
func (c *collector) subtractLacks(p piece, at place) piece {
	for _, l := range c.processors.lacks(p.start, p.end) {
		part := p
		part.start = p.end - xtrace.Time(l.time)
		c.addLack(l, part, at)
		p.end = part.start
	}
	return p
}

func (c *collector) addLack(l lack, p piece, at place) {
	c.add(causeKey{kind: l.kind}, p, at, nil).limit = l.limit
}

func (c *collector) addRunnable(g *goroutine, p piece, at place) {
	h := c.processors.holder(p.start, p.end, g)
	if h.free && p.end.Sub(p.start) >= freeProcessor {
		c.addLack(c.processors.delay(p.start, p.end), p, at)
		return
	}
	p = c.subtractLacks(p, at)
	if h.collected > 0 {
		part := p
		part.end = p.start + xtrace.Time(float64(p.end-p.start)*h.collected)
		if p.start = part.end; part.start < part.end {
			c.add(causeKey{kind: waits.GarbageCollection}, part, at, nil)
		}
	}
	if p.start >= p.end {
		return
	}
	var by *waits.Party
	if !h.free {
		by = c.holderParty(h)
	}
	c.add(causeKey{kind: waits.Runnable}, p, at, by)
}

func (c *collector) add(key causeKey, p piece, at place, by *waits.Party) *cause {
	entry := c.causes[key]
	if entry == nil {
		entry = &cause{
			kind: key.kind, functions: votes[string]{}, spans: votes[trace.SpanID]{},
			parties: map[partyKey]*partyShare{}, calls: calls{},
		}
		c.causes[key] = entry
	}
	d := p.end.Sub(p.start)
	entry.duration += d
	entry.spans[at.spanID] += d
	entry.functions[at.function] += d
	if by != nil {
		party := partyKey{by.Function, by.Request}
		share := entry.parties[party]
		if share == nil {
			share = &partyShare{}
			entry.parties[party] = share
		}
		if share.duration += d; d >= share.longest {
			share.party, share.longest = by, d
		}
	}
	return entry
}
