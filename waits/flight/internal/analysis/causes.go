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
	site   site         // of the nearest goroutine with a known site
	spanID trace.SpanID // of the collector's root
	in     otherRequest // zero for the wanted request
	depth  int
}

// An otherRequest is another request than the wanted one, and a goroutine that works for it.
type otherRequest struct {
	root *root
	by   *goroutine
}

// A cause collects the parts of a waits.Cause.
type cause struct {
	key      causeKey
	limit    float64 // of a CPULimit
	duration time.Duration
	sites    votes[site]
	spans    votes[trace.SpanID]
	parties  map[partyKey]*partyShare
	in       otherRequest
	longest  time.Duration // of the waits for in
	calls    calls
}

type partyKey struct{ function, request string }

type partyShare struct {
	party    *waits.Party
	longest  time.Duration // of the wait for this party
	duration time.Duration
}

// A causeKey identifies a cause. Causes that read the same are one.
type causeKey struct {
	kind     waits.Kind
	in       partyKey // the other request, without a function
	by       partyKey // of mutexes, pools and channels
	function string   // of waits for things outside the process
	span     string   // the name, of waits for things outside the process
}

func (b *builder) causes() []waits.Cause {
	c := &collector{builder: b, causes: map[causeKey]*cause{}, wanted: b.root,
		within: map[*root]*builder{}}
	c.follow(b.root.server, b.servingPieces(), place{spanID: b.root.id}, nil)
	list := make([]waits.Cause, 0, len(c.causes))
	for _, cause := range c.causes {
		list = append(list, cause.result(b.root, b.stacks))
	}
	slices.SortFunc(list, func(x, y waits.Cause) int {
		return cmp.Or(
			cmp.Compare(y.Duration, x.Duration), cmp.Compare(x.Kind, y.Kind),
			cmp.Compare(x.Function, y.Function), cmp.Compare(x.Span, y.Span),
			slices.Compare(x.SpanID[:], y.SpanID[:]),
			cmp.Compare(byFunction(x.By), byFunction(y.By)),
			cmp.Compare(byFunction(x.In), byFunction(y.In)))
	})
	return list
}

func byFunction(p *waits.Party) string {
	if p == nil {
		return ""
	}
	return p.Function + " " + p.Request
}

// A collector collects the causes of the wanted request. It follows the goroutines of its root: of
// the wanted request, or of a request within the process that the wanted one has called.
type collector struct {
	*builder
	causes map[causeKey]*cause
	wanted *root
	client trace.SpanID // the wanted request's span of the call; zero if root is wanted
	within map[*root]*builder
}

// follow attributes the time of pieces of g to g's activities. waiting is the wait for g, or nil:
// the wait explains time outside g's records, which is a gap otherwise.
func (c *collector) follow(g *goroutine, pieces iter.Seq[piece], at place, waiting *piece) {
	for p := range pieces {
		here := c.enter(g, p, at)
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
			switch {
			case p.wake != nil && c.stacks.opensConnection(p.wake.stack):
				c.addDependency(p, here) // on the new connection
			case p.wake != nil && c.stacks.closes(p.wake.stack): // without a connection
				p.wake = nil
				c.addBlame(p, here)
			default:
				c.addHolders(p, here)
			}
		case waits.GCAssist:
			c.add(causeKey{kind: waits.GarbageCollection}, p, here, nil)
		case waits.StopTheWorld:
			c.addStop(p, here)
		case waits.Wait:
			if p.wake != nil && p.wake.by != nil {
				c.addDependency(p, here)
				break
			}
			fallthrough // the wait began before the trace
		case waits.Network:
			c.addCalls(c.subtractLate(g, p, here), here)
		case waits.File, waits.Timer, waits.Syscall, waits.CCode:
			c.addOutside(p.kind, c.subtractLate(g, p, here), here)
		case waits.ChannelSend:
			c.addBlame(p, here)
		default:
			c.addDependency(p, here)
		}
	}
}

// enter returns the place of a piece of g, which at waits for.
func (c *collector) enter(g *goroutine, p piece, at place) place {
	if p.index < 0 {
		return at
	}
	var s site
	// A goroutine of a library serves all requests, whichever request has created it. What such a
	// goroutine does counts where its work is waited for.
	library := false
	if p.kind != waits.StopTheWorld {
		frames := c.calls(g, p)
		s = c.stacks.site(frames)
		library = len(frames) > 0 && !s.own
	}
	switch {
	case p.span == nil, library && p.span.startedOn != g && p.span.root.server != g:
	case p.span.root.within(c.root):
		at.spanID = p.span.id
		if c.root == c.wanted {
			at.in = otherRequest{}
		}
	case !p.span.root.id.IsValid(): // unknown, and perhaps the wanted request
	case !p.span.root.within(c.wanted) && !p.span.root.within(at.in.root):
		at.in, at.site = otherRequest{p.span.root.request(), g}, site{}
	}
	at.site = at.site.nearer(s)
	return at
}

// addOutside attributes a wait for something outside the process.
func (c *collector) addOutside(kind waits.Kind, p piece, at place) {
	if p.start >= p.end {
		return
	}
	c.add(causeKey{kind: kind, function: at.site.function, span: c.spanName(at)}, p, at, nil)
}

// spanName returns the name of the span of the wanted request at a place.
func (c *collector) spanName(at place) string { return c.wanted.names[c.spanID(at)] }

func (c *collector) spanID(at place) trace.SpanID {
	if c.root != c.wanted {
		return c.client
	}
	return at.spanID
}

// addCalls attributes a wait for the network, or a wait of an unknown kind. While another request
// of the process serves a call of the span, the activities of the other request count.
func (c *collector) addCalls(p piece, at place) {
	for _, r := range c.called[at.spanID] {
		end := r.end
		if end == 0 {
			end = c.last
		}
		from, to := max(p.start, r.start, r.earliest), min(p.end, end)
		sameTrace := r.traceID == c.root.traceID || !c.root.traceID.IsValid()
		if r.server == nil || r.outer != nil || !sameTrace || from >= to || at.depth+1 >= maxDepth {
			continue
		}
		if before := p; before.start < from {
			before.end = from
			c.addOutside(p.kind, before, at)
		}
		c.addCall(r, p, from, to, at)
		p.start = to
	}
	if p.start < p.end {
		c.addOutside(p.kind, p, at)
	}
}

// addCall attributes the part [from, to) of the wait p to the activities of the request r, which
// serves the call.
func (c *collector) addCall(r *root, p piece, from, to xtrace.Time, at place) {
	of := collector{
		builder: c.within[r], causes: c.causes, wanted: c.wanted, client: c.spanID(at),
		within: c.within,
	}
	if of.builder == nil {
		of.builder = &builder{analyzer: c.analyzer, root: r, inner: map[*goroutine][]stretch{}}
		if r.names == nil {
			r.names = map[trace.SpanID]string{}
		}
		c.within[r] = of.builder
	}
	p.start, p.end, p.wake = from, to, nil
	of.follow(r.server, of.pieces(r.server, from, to, true),
		place{spanID: r.id, in: otherRequest{r, r.server}, depth: at.depth + 1}, &p)
}

// addGap attributes a time without a record of g. The wait for g explains the time, unless g serves
// the wanted request: then nothing is known, and the time is of no cause.
func (c *collector) addGap(g *goroutine, p piece, at place, waiting *piece) {
	if waiting == nil {
		return
	}
	at.depth++
	switch before := g.created && (len(g.records) == 0 || p.end <= g.records[0].start); {
	case before && g.creator != nil && at.depth < maxDepth:
		c.follow(g.creator, c.pieces(g.creator, p.start, p.end, true), at, waiting)
	case before: // package time creates goroutines for time.AfterFunc
		c.addTimer(g, c.subtractLate(g, p, at), at)
	default:
		w := *waiting
		if w.start, w.end = p.start, p.end; w.kind == waits.Network {
			c.addOutside(w.kind, w, at)
		} else {
			c.addBlame(w, at)
		}
	}
}

// addTimer attributes the time before a timer created g. Some timers are deadlines of contexts.
func (c *collector) addTimer(g *goroutine, p piece, at place) {
	function := g.function(c.stacks)
	if !ofContext(function) || p.start >= p.end {
		c.addOutside(waits.Timer, p, at)
		return
	}
	by := &waits.Party{Goroutine: uint64(g.id), Function: function}
	key := causeKey{kind: waits.Timer, function: at.site.function, span: c.spanName(at)}
	key.by.function = function
	c.add(key, p, at, by)
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
	key := causeKey{kind: p.kind, function: at.site.function}
	if p.wake != nil && p.wake.by != nil {
		by = c.party(p.wake, p.end)
		if party := (partyKey{by.Function, by.Request}); party != (partyKey{}) {
			key = causeKey{kind: p.kind, by: party}
		}
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
	cause := c.add(causeKey{kind: waits.OnCPU}, p, at, nil)
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
	if at.in.root != nil && !ofProcess(key.kind) {
		key.in.request = "of " + at.in.root.name
	}
	entry := c.causes[key]
	if entry == nil {
		entry = &cause{
			key: key, sites: votes[site]{}, spans: votes[trace.SpanID]{},
			parties: map[partyKey]*partyShare{}, calls: calls{},
		}
		c.causes[key] = entry
	}
	d := p.end.Sub(p.start)
	entry.duration += d
	entry.spans[c.spanID(at)] += d
	entry.sites[at.site] += d
	if key.in != (partyKey{}) && d >= entry.longest {
		entry.in, entry.longest = at.in, d
	}
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

// ofProcess reports whether a cause stops the whole process, whatever its goroutines do.
func ofProcess(k waits.Kind) bool {
	switch k {
	case waits.StopTheWorld, waits.GarbageCollection, waits.OtherPrograms, waits.CPULimit,
		waits.NotRun:
		return true
	default:
		return false
	}
}
