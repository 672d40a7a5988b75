package analysis

import (
	"strings"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"
)

// An analyzer follows the goroutines and the spans of a trace, and keeps what happens in its
// windows.
type analyzer struct {
	roots   []Root
	windows []window
	pause   func()

	goroutines map[xtrace.GoID]*goroutine // that exist
	spans      map[trace.SpanID]*span     // that have not ended
	tasks      map[xtrace.TaskID]*root    // whose root has not ended
	wanted     map[trace.SpanID]*root     // nil before the root was met
	stops      []stop                     // of the world, in the windows
	stopping   map[*goroutine]stop        // that have not ended
	processors *processors
	stacks     *stacks
	stored     []*span      // that segments have; the first one is nil
	wakes      chunks[wake] // that segments have; the first one is none

	first, last       xtrace.Time
	steps             int // pieces so far
	firstClock, clock *xtrace.ClockSnapshot
}

// A stop is a time in which the runtime has stopped the world.
type stop struct {
	start, end xtrace.Time
	by         *goroutine
	collector  bool // for the garbage collector
	wake       wake // the stack
}

func newAnalyzer(roots []Root, windows []window, pause func()) *analyzer {
	a := &analyzer{
		roots: roots, windows: windows, pause: pause,
		goroutines: map[xtrace.GoID]*goroutine{},
		spans:      map[trace.SpanID]*span{},
		tasks:      map[xtrace.TaskID]*root{},
		wanted:     map[trace.SpanID]*root{},
		stopping:   map[*goroutine]stop{},
		processors: newProcessors(windows, pause),
		stacks:     newStacks(),
		stored:     make([]*span, 1),
	}
	a.wakes.add(wake{})
	for _, r := range roots {
		a.wanted[r.SpanID] = nil
	}
	return a
}

// event handles the next event.
func (a *analyzer) event(event *xtrace.Event) {
	a.last = event.Time()
	if a.first == 0 {
		a.first = a.last
	}
	switch event.Kind() {
	case xtrace.EventStateTransition:
		a.transition(event)
	case xtrace.EventLog:
		a.note(event)
	case xtrace.EventSync:
		if clock := event.Sync().ClockSnapshot; clock != nil {
			if a.clock = clock; a.firstClock == nil {
				a.firstClock = clock
			}
		}
	case xtrace.EventRangeBegin, xtrace.EventRangeActive, xtrace.EventRangeEnd:
		a.span(event)
	case xtrace.EventLabel:
		label := event.Label()
		if g := a.goroutines[event.Goroutine()]; g != nil &&
			strings.HasPrefix(label.Label, "GC (") {
			g.collects = true
		}
	case xtrace.EventStackSample:
		if g := a.goroutines[event.Goroutine()]; g != nil {
			g.current.observe(event.Stack())
		}
	default: // says nothing about goroutines
	}
}

// span handles the begin and the end of work of the garbage collector and of stops of the world.
func (a *analyzer) span(event *xtrace.Event) {
	r, at := event.Range(), event.Time()
	if r.Scope.Kind != xtrace.ResourceGoroutine {
		return
	}
	g := a.goroutines[r.Scope.Goroutine()]
	if g == nil {
		return
	}
	begins := event.Kind() != xtrace.EventRangeEnd
	if r.Name == "GC mark assist" {
		g.assist, g.assists = begins, true
		if g.current.activity <= assisting && (g.current.activity == assisting) != begins {
			stack := event.Stack() // it has one where the help begins
			g.current.observe(stack)
			a.change(g, at, g.runActivity(), stack, nil)
		}
		return
	}
	reason, ok := strings.CutPrefix(r.Name, "stop-the-world")
	if !ok {
		return
	}
	if begins {
		a.stopping[g] = stop{
			start: at, by: g, collector: strings.Contains(reason, "GC"),
			wake: wake{by: g, span: g.owner.current(), stack: a.stacks.id(event.Stack())},
		}
		return
	}
	if s, ok := a.stopping[g]; ok {
		a.endStop(s, at)
	}
}

func (a *analyzer) endStop(s stop, at xtrace.Time) {
	delete(a.stopping, s.by)
	if s.end = at; overlap(a.windows, s.start, at) {
		a.stops = append(a.stops, s)
	}
}

// stopped handles the end of a time in which a goroutine ran, or was in a system call.
func (a *analyzer) leave(g *goroutine, event *xtrace.Event, from xtrace.GoState) {
	switch from {
	case xtrace.GoRunning:
		a.processors.stop(g, event.Time())
	case xtrace.GoSyscall:
		a.processors.syscall(event.Time().Sub(g.current.start))
	default:
	}
}

// resume handles the beginning of a time in which a goroutine runs.
func (a *analyzer) resume(g *goroutine, event *xtrace.Event, at xtrace.Time) {
	g.processor, g.resumed = event.Proc(), at
	a.processors.start(at)
}

// close ends everything at the end of the trace.
func (a *analyzer) close() {
	for _, s := range a.stopping {
		a.endStop(s, a.last)
	}
	for _, g := range a.goroutines {
		if g.state == xtrace.GoRunning {
			a.processors.stop(g, a.last)
		}
		a.end(g, a.last, nil)
	}
}
