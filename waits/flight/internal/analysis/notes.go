package analysis

import (
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
	default:
	}
}

// startRoot begins a request. The caller starts its span.
func (a *analyzer) startRoot(event *xtrace.Event, task xtrace.TaskID, n tracelog.Note) {
	if a.spans[n.SpanID] != nil {
		return // malformed: the id exists
	}
	r := &root{id: n.SpanID, traceID: n.TraceID, task: task, start: event.Time()}
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
	r.names = map[trace.SpanID]string{}
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
		if s.root = a.tasks[task]; s.root == nil {
			s.root = a.unknownRoot(parent, task)
		}
		if s.parent = s.root.span; parent != nil && parent.root == s.root {
			s.parent = parent
		}
		a.spans[n.SpanID] = s
	case s.root.span == s && s.root.server == nil:
		s.root.server, s.root.name = g, n.Name
	default:
		return // malformed: the span has started before
	}
	s.startedOn = g
	if s.root.wanted {
		s.root.names[s.id] = n.Name
	}
	g.owner.own = append(g.owner.own, s)
	a.reassign(g, event)
}

// unknownRoot returns the root of a span with a task that did not start in the trace.
func (a *analyzer) unknownRoot(parent *span, task xtrace.TaskID) *root {
	if task == xtrace.NoTask || task == xtrace.BackgroundTask {
		if parent != nil {
			return parent.root
		}
		task = xtrace.NoTask
	}
	r := &root{task: task}
	r.span = &span{root: r}
	if task != xtrace.NoTask {
		a.tasks[task] = r
	}
	return r
}

func (a *analyzer) endSpan(event *xtrace.Event, n tracelog.Note) {
	g, at := a.goroutines[event.Goroutine()], event.Time()
	s := a.spans[n.SpanID]
	if s == nil {
		a.endEarlier(g, event, n)
		return
	}
	delete(a.spans, n.SpanID)
	s.ended = true
	if s.root.wanted {
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

// endEarlier handles the end of a span that started before the trace. The server of a root is g.
func (a *analyzer) endEarlier(g *goroutine, event *xtrace.Event, n tracelog.Note) {
	r, wanted := a.wanted[n.SpanID]
	if !wanted || r != nil || g == nil {
		return
	}
	if current := g.owner.current(); current != nil && !current.root.id.IsValid() {
		r = current.root
	} else {
		r = &root{}
		r.span = &span{root: r}
	}
	r.id, r.span.id, r.wanted, r.server = n.SpanID, n.SpanID, true, g
	a.keep(r)
	r.clock = a.firstClock
	r.earliest = max(a.first, g.servedUntil)
	r.names[r.id] = n.Name
	r.span.ended = true
	a.endRoot(r, g, event.Time(), n.Name)
	a.reassign(g, event)
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
	if s == nil || !s.root.wanted || g.lastRoot == s.root {
		return
	}
	g.lastRoot = s.root
	s.root.workers = append(s.root.workers, g)
}
