package analysis

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

func (a *analyzer) requests() []waits.Request {
	var requests []waits.Request
	for _, wanted := range a.roots {
		if r := a.wanted[wanted.SpanID]; r != nil && r.server != nil {
			requests = append(requests, a.request(wanted, r))
		}
	}
	return requests
}

// A builder builds one request.
type builder struct {
	*analyzer
	root     *root
	from, to xtrace.Time
	// handover is the time from which the serving goroutine does not serve the request, or to.
	handover xtrace.Time
	inner    map[*goroutine][]stretch
}

func (a *analyzer) request(wanted Root, r *root) waits.Request {
	b := &builder{analyzer: a, root: r, from: r.start, to: r.end, inner: map[*goroutine][]stretch{}}
	request := waits.Request{TraceID: wanted.TraceID, RootID: r.id, Name: r.name}
	if r.end == 0 {
		request.Unended, b.to = true, a.last
	}
	switch {
	case r.start == 0 && wanted.Duration > 0:
		b.from = b.to - xtrace.Time(wanted.Duration)
	case r.start == 0:
		b.from = r.earliest
	case r.end > 0:
		b.from, b.to = wanted.fit(r.start, r.end)
	}
	if r.clock != nil {
		request.Start = r.clock.Wall.Add(b.from.Sub(r.clock.Trace))
	}
	request.Duration = b.to.Sub(b.from)
	b.findHandover()
	request.Goroutines = []waits.Goroutine{b.goroutine(r.server, b.servingPieces())}
	seen := map[*goroutine]bool{r.server: true}
	intervals := 0
	for _, g := range r.workers {
		if seen[g] {
			continue
		}
		seen[g] = true
		if intervals > maxOtherIntervals {
			request.Omitted++
			continue
		}
		if other := b.goroutine(g, b.workPieces(g)); len(other.Intervals) > 0 {
			request.Goroutines = append(request.Goroutines, other)
			intervals += len(other.Intervals)
		}
	}
	request.Causes = b.causes()
	return request
}

// A goroutine has about maxIntervals at most. After maxOtherIntervals in all, further goroutines
// are left out, because results stay in memory for long.
const (
	maxIntervals      = 4096
	maxOtherIntervals = 4 * maxIntervals
)

func (b *builder) goroutine(g *goroutine, pieces iter.Seq[piece]) waits.Goroutine {
	result := waits.Goroutine{ID: uint64(g.id), Function: g.function(b.stacks)}
	limit, grain := 2*maxIntervals, time.Microsecond
	for p := range pieces {
		result.Intervals = append(result.Intervals, b.interval(g, p))
		if len(result.Intervals) < limit {
			continue
		}
		for len(result.Intervals) > maxIntervals && grain < b.to.Sub(b.from) {
			grain *= 2
			result.Intervals = coarsen(result.Intervals, grain)
		}
		limit = max(limit, 2*len(result.Intervals)) // coarsen keeps all spans
	}
	return result
}

// coarsen groups adjacent intervals of one span within one grain of time. One interval for each
// kind replaces a group, with the total duration and the stack of the longest interval.
func coarsen(intervals []waits.Interval, grain time.Duration) []waits.Interval {
	result := intervals[:0]
	for len(intervals) > 0 {
		group, start := 1, intervals[0].Start
		for group < len(intervals) && joinable(&intervals[group-1], &intervals[group]) &&
			intervals[group].End-start <= grain {
			group++
		}
		result = append(result, byKind(intervals[:group])...)
		intervals = intervals[group:]
	}
	return result
}

func joinable(a, b *waits.Interval) bool {
	return a.SpanID == b.SpanID && a.End == b.Start && a.Kind != waits.Gap && b.Kind != waits.Gap
}

// byKind returns one interval for each kind of a group, in the order of their first intervals.
func byKind(group []waits.Interval) []waits.Interval {
	var kinds []waits.Interval
	var totals, longest [waiting.Kinds]time.Duration
	for _, i := range group {
		n := slices.IndexFunc(kinds, func(k waits.Interval) bool { return k.Kind == i.Kind })
		if n < 0 {
			n = len(kinds)
			kinds = append(kinds, i)
		}
		took := i.End - i.Start
		totals[i.Kind] += took
		if took > longest[i.Kind] {
			longest[i.Kind] = took
			kinds[n] = i
		}
	}
	at := group[0].Start
	for n := range kinds {
		kinds[n].Start, kinds[n].End = at, at+totals[kinds[n].Kind]
		at = kinds[n].End
	}
	return kinds
}

// workPieces yields the pieces of another goroutine than the serving one for the request.
func (b *builder) workPieces(g *goroutine) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for p := range b.pieces(g, b.from, b.to, false) {
			if p.span != nil && p.span.root.within(b.root) && !yield(p) {
				return
			}
		}
	}
}

// findHandover sets handover. The serving goroutine stops serving if it ends, or serves another
// request, while this request ends on another goroutine.
func (b *builder) findHandover() {
	b.handover = b.to
	server := b.root.server
	first, end := server.segments(max(b.from, b.root.start), b.to)
	for i := first; i < end && b.root.endedOn != nil && b.root.endedOn != server; i++ {
		if s := b.stored[server.records[i].span]; s != nil && !s.root.within(b.root) {
			b.handover = max(b.from, server.records[i].start)
			return
		}
	}
	if server.state == xtrace.GoNotExist && first < end {
		b.handover = min(b.to, server.records[end-1].end)
	}
}

// servingPieces yields the pieces of the serving goroutine, which cover the request. After a
// handover, the serving goroutine counts as waiting for the goroutine on which the request ends.
func (b *builder) servingPieces() iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for p := range b.pieces(b.root.server, b.from, b.handover, true) {
			if !yield(p) {
				return
			}
		}
		if b.handover == b.to {
			return
		}
		rest := piece{kind: waits.Wait, index: -1}
		rest.segment = segment{start: b.handover, end: b.to, activity: waitingOther}
		if b.root.endedOn != b.root.server && b.root.endedOn != nil {
			rest.wake = &wake{by: b.root.endedOn, span: b.root.span}
		}
		yield(rest)
	}
}

func (b *builder) interval(g *goroutine, p piece) waits.Interval {
	start, end := p.start.Sub(b.from), p.end.Sub(b.from)
	i := waits.Interval{Kind: p.kind, Start: start, End: end, SpanID: b.root.id}
	if p.activity != executingNote || p.kind == waits.StopTheWorld {
		i.Stack = b.stacks.frames(p.stack)
	}
	if p.span != nil && p.span.root.within(b.root) {
		i.SpanID = p.span.id
	}
	switch {
	case p.kind == waits.Runnable:
		switch h := b.processors.holder(p.start, p.end, g); {
		case h.free:
		case h.collected > 0.5 && h.worker != nil:
			function := h.worker.function(b.stacks)
			i.By = &waits.Party{Goroutine: uint64(h.worker.id), Function: function}
		default:
			i.By = b.holderParty(h)
		}
	case p.activity == waitingNetwork && p.wake != nil && b.stacks.pollsNetwork(p.wake.stack):
	case p.wake != nil && p.wake.by != nil:
		i.By = b.party(p.wake, p.end)
	}
	return i
}

// party describes the goroutine that ended a wait at a time.
func (b *builder) party(w *wake, at xtrace.Time) *waits.Party {
	p := &waits.Party{Goroutine: uint64(w.by.id)}
	p.Stack = b.stacks.frames(w.stack)
	p.Function = partyFunction(b.stacks.get(w.stack).site, p.Stack)
	b.setRequest(p, cmp.Or(w.span, w.by.served(at)))
	return p
}

// partyFunction returns the function of a party. "perfline" stands for all functions of a goroutine
// that perfline has started. A goroutine that ends a context has the function of package context.
func partyFunction(s site, stack []waits.Frame) string {
	if s.function != "" || len(stack) == 0 {
		return s.function
	}
	switch first := stack[len(stack)-1].Function; {
	case waiting.Perfline(first):
		return "perfline"
	case ofContext(first):
		return first
	default:
		return ""
	}
}

// ofContext reports whether a function belongs to package context.
func ofContext(function string) bool { return strings.HasPrefix(function, "context.") }

func (b *builder) setRequest(p *waits.Party, s *span) {
	switch {
	case s == nil:
	case s.root.within(b.root):
		b.root.identify(p)
	default:
		s.root.request().identify(p)
	}
}

// holderParty describes the goroutine that held the processors, or returns nil without one.
func (b *builder) holderParty(h holder) *waits.Party {
	if h.by == nil {
		return nil
	}
	p := &waits.Party{Goroutine: uint64(h.by.id), Function: h.by.function(b.stacks)}
	switch {
	case waiting.Perfline(p.Function):
		p.Function = "perfline"
	case waiting.Standard(p.Function):
		p.Function = ""
	}
	first, end := h.by.segments(h.longest.start, h.longest.end)
	for i := first; i < end; i++ {
		if frames := b.runCalls(h.by, i); len(frames) > 0 {
			p.Stack = frames
			p.Function = cmp.Or(b.stacks.site(frames).function, p.Function)
		}
		b.setRequest(p, b.segment(h.by, i).span)
	}
	return p
}

// calls returns the known calls of a goroutine during the whole piece.
func (b *builder) calls(g *goroutine, p piece) []waits.Frame {
	frames := b.runCalls(g, p.index)
	if p.kind == waits.OnCPU && !g.records[p.index].isExact() && len(p.calls) > len(frames) {
		return p.calls
	}
	return frames
}

// runCalls returns the known calls of a goroutine in a segment: the exact stack, or the calls
// common to the stacks before and after. Stacks of notes count only in such pairs.
func (b *builder) runCalls(g *goroutine, i int) []waits.Frame {
	s := &g.records[i]
	if s.activity != executingNote && (s.stack != 0 || s.activity > assisting) {
		return b.stacks.frames(s.stack)
	}
	before, after, notes := stackID(0), stackID(0), 0
	if s.activity == executingNote {
		before, notes = s.stack, 1
	} else if i > 0 && g.records[i-1].end == s.start {
		before = g.records[i-1].stack
	}
	if i+1 < len(g.records) && g.records[i+1].start == s.end {
		if after = g.records[i+1].stack; g.records[i+1].activity == executingNote {
			notes++
		}
	}
	if notes > 0 && (before == 0 || after == 0) {
		return nil
	}
	return commonCalls(b.stacks.frames(before), b.stacks.frames(after))
}
