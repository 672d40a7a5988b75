package analysis

import (
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/profiling/states"
)

// requests returns the wanted requests that the trace has.
func (a *analyzer) requests() []states.Request {
	var requests []states.Request
	for _, wanted := range a.roots {
		if r := a.wanted[wanted.SpanID]; r != nil && r.server != nil {
			requests = append(requests, a.request(wanted, r))
		}
	}
	return requests
}

// A builder makes one request.
type builder struct {
	*analyzer
	root     *root
	from, to xtrace.Time
}

func (a *analyzer) request(wanted Root, r *root) states.Request {
	b := &builder{analyzer: a, root: r, from: r.start, to: r.end}
	request := states.Request{TraceID: wanted.TraceID, RootID: r.id, Name: r.name}
	if r.end == 0 {
		request.Unended, b.to = true, a.last
	}
	if r.start == 0 {
		if b.from = r.earliest; r.clock != nil && !wanted.Start.IsZero() {
			b.from = r.clock.Trace + xtrace.Time(wanted.Start.Sub(r.clock.Wall))
		}
	}
	b.from = min(b.from, b.to)
	if r.clock != nil {
		request.Start = r.clock.Wall.Add(b.from.Sub(r.clock.Trace))
	}
	request.Duration = b.to.Sub(b.from)
	request.Goroutines = append(request.Goroutines, b.goroutine(r.server))
	seen := map[*goroutine]bool{r.server: true}
	for _, g := range r.workers {
		if seen[g] {
			continue
		}
		seen[g] = true
		if other := b.goroutine(g); len(other.Intervals) > 0 {
			request.Goroutines = append(request.Goroutines, other)
		}
	}
	request.Causes = b.causes()
	return request
}

func (b *builder) goroutine(g *goroutine) states.Goroutine {
	result := states.Goroutine{ID: uint64(g.id), Function: g.function(b.stacks)}
	for p := range b.pieces(g, b.from, b.to, g == b.root.server) {
		if g != b.root.server && (p.span == nil || p.span.root != b.root) {
			continue
		}
		result.Intervals = append(result.Intervals, b.interval(g, p))
	}
	return result
}

// at returns a time of the trace as the time since the request's start.
func (b *builder) at(t xtrace.Time) time.Duration { return t.Sub(b.from) }

func (b *builder) interval(g *goroutine, p piece) states.Interval {
	i := states.Interval{Kind: p.kind, Start: b.at(p.start), End: b.at(p.end), Stack: b.stacks.frames(p.stack), SpanID: b.root.id}
	if p.span != nil && p.span.root == b.root {
		i.SpanID = p.span.id
	}
	switch {
	case p.kind == states.Runnable:
		if h := b.processors.most(p.start, p.end, g); !h.free {
			i.By = b.holding(h)
		}
	case p.wake != nil && p.wake.by != nil:
		i.By = b.party(p.wake)
	}
	return i
}

// party describes the goroutine that ended a wait.
func (b *builder) party(w *wake) *states.Party {
	p := &states.Party{Goroutine: uint64(w.by.id), Function: b.stacks.function(w.stack), Stack: b.stacks.frames(w.stack)}
	work(p, w.span)
	return p
}

// work names the request that a party worked for.
func work(p *states.Party, s *span) {
	if s != nil {
		p.Request, p.TraceID, p.RootID = s.root.name, s.root.traceID, s.root.id
	}
}

// holding describes the goroutine that held the processors, or returns nil if there is none.
func (b *builder) holding(h holder) *states.Party {
	if h.by == nil {
		return nil
	}
	p := &states.Party{Goroutine: uint64(h.by.id), Function: h.by.function(b.stacks)}
	if standard(p.Function) {
		p.Function = ""
	}
	first, end := h.by.segments(h.last.start, h.last.end)
	for i := first; i < end; i++ {
		if frames := b.ran(h.by, i); len(frames) > 0 {
			if p.Stack = frames; innermost(frames) != "" {
				p.Function = innermost(frames)
			}
		}
		work(p, h.by.past[i].span)
	}
	return p
}

// ran returns the calls of a goroutine while it ran: where it was seen, or else the calls that it had before and after.
func (b *builder) ran(g *goroutine, i int) []states.Frame {
	if s := &g.past[i]; s.activity > assisting || s.stack != xtrace.NoStack {
		return b.stacks.frames(s.stack)
	}
	var before, after []states.Frame
	if i > 0 && g.past[i-1].end == g.past[i].start {
		before = b.stacks.frames(g.past[i-1].stack)
	}
	if i+1 < len(g.past) && g.past[i+1].start == g.past[i].end {
		after = b.stacks.frames(g.past[i+1].stack)
	}
	return common(before, after)
}
