package analysis

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/tracelog"
)

func (a *analyzer) note(event *xtrace.Event) {
	log := event.Log()
	switch n := tracelog.Parse(log.Category, log.Message); n.Kind {
	case tracelog.RootStart:
		a.startRoot(event, log.Task, n)
		a.startSpan(event, log.Task, n)
	case tracelog.SpanStart:
		a.startSpan(event, log.Task, n)
	case tracelog.SpanEnd:
		a.endSpan(event, n)
	case tracelog.InnerSpan:
		a.endInner(event, n)
	case tracelog.CPUTime:
		a.processors.account(event.Time(), n.CPU)
	case tracelog.Running:
		a.beats = true
	default:
	}
}

// startRoot begins a request. The caller starts its span.
func (a *analyzer) startRoot(event *xtrace.Event, task xtrace.TaskID, n tracelog.Note) {
	if a.spans[n.SpanID] != nil {
		return // malformed: the id exists
	}
	r := &root{id: n.SpanID, traceID: n.TraceID, task: task, start: event.Time(),
		parent: n.Parent}
	r.span = &span{id: n.SpanID, root: r}
	a.spans[n.SpanID] = r.span
	if task != xtrace.NoTask && task != xtrace.BackgroundTask {
		a.tasks[task] = r
	}
	if n.Parent.IsValid() && overlap(a.windows, r.start, r.start) {
		a.called[n.Parent] = append(a.called[n.Parent], r)
	}
	if _, r.wanted = a.wanted[n.SpanID]; r.wanted {
		a.keep(r)
	}
}

func (a *analyzer) keep(r *root) {
	r.clock = a.clock
	if r.names == nil {
		r.names = map[trace.SpanID]string{}
	}
	a.wanted[r.id] = r
}

func (a *analyzer) startSpan(event *xtrace.Event, task xtrace.TaskID, n tracelog.Note) {
	g := a.goroutines[event.Goroutine()]
	if g == nil {
		return
	}
	s := a.spans[n.SpanID]
	switch {
	case s == nil:
		s = &span{id: n.SpanID, start: event.Time()}
		parent := g.owner.current()
		switch {
		case n.Root.IsValid():
			s.root = a.earlierRoot(n)
		case a.tasks[task] != nil:
			s.root = a.tasks[task]
		default:
			s.root = a.unknownRoot(parent, task)
		}
		if s.parent = s.root.span; parent != nil && parent.root == s.root {
			s.parent = parent
		}
		a.spans[n.SpanID] = s
	case s.root.span == s && s.root.server == nil:
		s.root.server, s.root.name = g, n.Name
		s.root.enclose(g.owner.current())
	default:
		return // malformed: the span has started before
	}
	s.startedOn = g
	if s.root.names != nil {
		s.root.names[s.id] = n.Name
	}
	g.owner.own = append(g.owner.own, s)
	a.reassign(g, event)
}

// enclose sets the outer root if r starts in an open span of another instrumentation of the same
// request.
func (r *root) enclose(around *span) {
	if around != nil && around.root.server == r.server && r.isInside(around.root) {
		r.outer = around.root.request()
		if r.outer.names != nil {
			r.names = r.outer.names
		}
	}
}

// isInside reports whether another instrumentation around r has made the root around for the same
// request, on the same goroutine: the other root is the parent of r, or both roots have one parent.
func (r *root) isInside(around *root) bool {
	return r.parent.IsValid() && (r.parent == around.id || r.parent == around.parent)
}

// earlierRoot returns the root that a span's note names, perhaps a root from before the trace.
func (a *analyzer) earlierRoot(n tracelog.Note) *root {
	if s := a.spans[n.Root]; s != nil {
		return s.root
	}
	r := &root{id: n.Root, traceID: n.TraceID, names: map[trace.SpanID]string{}}
	r.span = &span{id: n.Root, root: r}
	a.spans[n.Root] = r.span
	if ended, wanted := a.wanted[n.Root]; wanted && ended == nil {
		r.wanted = true
		a.keep(r)
	}
	return r
}

// unknownRoot returns the root of a span with a task that did not start in the trace.
func (a *analyzer) unknownRoot(parent *span, task xtrace.TaskID) *root {
	if task == xtrace.NoTask || task == xtrace.BackgroundTask {
		if parent != nil {
			return parent.root
		}
		task = xtrace.NoTask
	}
	r := &root{task: task, names: map[trace.SpanID]string{}}
	r.span = &span{root: r}
	if task != xtrace.NoTask {
		a.tasks[task] = r
	}
	return r
}

func (a *analyzer) endSpan(event *xtrace.Event, n tracelog.Note) {
	g, at := a.goroutines[event.Goroutine()], event.Time()
	s := a.spans[n.SpanID]
	if s == nil || s.root.span == s && s.root.server == nil {
		a.endEarlier(g, event, n)
		return
	}
	delete(a.spans, n.SpanID)
	s.ended = true
	if s.root.names != nil {
		s.root.names[s.id] = n.Name
	}
	if s.root.span == s {
		a.endRoot(s.root, g, at, n.Name)
	}
	if s.startedOn != nil {
		a.reassign(s.startedOn, event)
	}
}

func (a *analyzer) endRoot(r *root, g *goroutine, at xtrace.Time, name string) {
	r.end, r.endedOn, r.name = at, g, name
	if a.tasks[r.task] == r {
		delete(a.tasks, r.task)
	}
	if g != nil {
		g.servedUntil = at
	}
}

// endEarlier handles the end of a span that started before the trace. If the span is a local root,
// g served it since the begin of the trace, or since the last root of g.
func (a *analyzer) endEarlier(g *goroutine, event *xtrace.Event, n tracelog.Note) {
	known, wanted := a.wanted[n.SpanID]
	if known != nil && known.end > 0 || !wanted && !n.TraceID.IsValid() || g == nil {
		return
	}
	r, current := a.tasks[event.Log().Task], g.owner.current()
	switch s := a.spans[n.SpanID]; {
	case s != nil:
		r = s.root
		delete(a.spans, n.SpanID)
	case r != nil:
	case current != nil && !current.root.id.IsValid():
		r = current.root
	default:
		r = &root{}
		r.span = &span{root: r}
	}
	r.id, r.span.id, r.server, r.traceID, r.parent = n.SpanID, n.SpanID, g, n.TraceID, n.Parent
	r.earliest = max(a.first, g.servedUntil)
	for _, other := range g.earlier {
		if other.isInside(r) {
			other.outer, r.earliest = r, min(r.earliest, other.earliest)
		}
	}
	if overlap(a.windows, r.earliest, event.Time()) {
		g.earlier = append(g.earlier, r)
		if n.Parent.IsValid() { // other calls of the span are later
			a.called[n.Parent] = slices.Insert(a.called[n.Parent], 0, r)
		}
	}
	if wanted {
		r.wanted, r.traceID = true, a.traceOf(n.SpanID)
		a.keep(r)
		r.clock = a.firstClock
		r.names[r.id] = n.Name
	}
	r.span.ended = true
	a.endRoot(r, g, event.Time(), n.Name)
	a.reassign(g, event)
}

// traceOf returns the trace of a wanted root.
func (a *analyzer) traceOf(id trace.SpanID) trace.TraceID {
	return a.roots[slices.IndexFunc(a.roots, func(r Root) bool { return r.SpanID == id })].TraceID
}

// reassign begins a new segment if a note changed the span of a running goroutine.
func (a *analyzer) reassign(g *goroutine, note *xtrace.Event) {
	if g.state != xtrace.GoRunning || g.owner.current() == g.current.span {
		return
	}
	activity, stack := g.current.activity, xtrace.NoStack
	if activity != assisting && note.Goroutine() == g.id {
		activity, stack = executingNote, note.Stack()
	}
	a.change(g, note.Time(), activity, stack, nil)
}

// join adds a goroutine to the workers of its current root, if the root is wanted.
func (a *analyzer) join(g *goroutine) {
	s := g.current.span
	if s == nil || g.lastRoot == s.root {
		return
	}
	for _, r := range []*root{s.root, s.root.outer} {
		if r != nil && r.wanted {
			g.lastRoot = s.root
			r.workers = append(r.workers, g)
		}
	}
}
