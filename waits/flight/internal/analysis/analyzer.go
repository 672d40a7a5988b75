package analysis

import (
	"strings"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"
)

// An analyzer follows goroutines and spans of a trace, and records segments in its windows.
type analyzer struct {
	roots   []Root
	windows []window
	pause   func()

	goroutines map[xtrace.GoID]*goroutine // live goroutines
	spans      map[trace.SpanID]*span     // open spans
	tasks      map[xtrace.TaskID]*root    // the roots of open tasks
	wanted     map[trace.SpanID]*root     // nil before the first note of the root
	called     map[trace.SpanID][]*root   // roots in the windows, by their parents, by start
	stops      []stop                     // ended stops, in the windows
	stopping   map[*goroutine]stop        // open stops
	processors *processors
	stacks     *stacks
	stored     []*span      // spans of segments, after a nil
	wakes      chunks[wake] // wakes of segments, after an empty one

	first, last       xtrace.Time
	beats             bool
	silences          []window // with beats: no event for longestSilence, in the windows; by time
	steps             int      // number of pieces so far
	firstClock, clock *xtrace.ClockSnapshot
}

// A stop is a time in which the world was stopped.
type stop struct {
	start, end xtrace.Time
	by         *goroutine
	collector  bool // for the garbage collector
	wake       wake // with the stack of the stop
}

func newAnalyzer(roots []Root, windows []window, own func(string) bool,
	pause func()) *analyzer {
	a := &analyzer{
		roots: roots, windows: windows, pause: pause,
		goroutines: map[xtrace.GoID]*goroutine{},
		spans:      map[trace.SpanID]*span{},
		tasks:      map[xtrace.TaskID]*root{},
		wanted:     map[trace.SpanID]*root{},
		called:     map[trace.SpanID][]*root{},
		stopping:   map[*goroutine]stop{},
		processors: newProcessors(windows, pause),
		stacks:     newStacks(own),
		stored:     make([]*span, 1),
	}
	a.wakes.add(wake{})
	for _, r := range roots {
		a.wanted[r.SpanID] = nil
	}
	return a
}

func (a *analyzer) event(event *xtrace.Event) {
	at := event.Time()
	if a.beats && at.Sub(a.last) > longestSilence && overlap(a.windows, a.last, at) {
		a.silences = append(a.silences, window{a.last, at})
	}
	a.last = at
	if a.first == 0 {
		a.first = at
	}
	switch event.Kind() {
	case xtrace.EventStateTransition:
		a.transition(event)
	case xtrace.EventLog:
		a.note(event)
	case xtrace.EventTaskBegin: // of the program, or of another tracer
		if t := event.Task(); a.tasks[t.Parent] != nil {
			a.tasks[t.ID] = a.tasks[t.Parent]
		}
	case xtrace.EventTaskEnd:
		delete(a.tasks, event.Task().ID)
	case xtrace.EventSync:
		if clock := event.Sync().ClockSnapshot; clock != nil {
			if a.clock = clock; a.firstClock == nil {
				a.firstClock = clock
			}
		}
	case xtrace.EventRangeBegin, xtrace.EventRangeActive, xtrace.EventRangeEnd:
		a.collectorRange(event)
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
	default:
	}
}

// collectorRange handles the begin and the end of assists and of stops of the world.
func (a *analyzer) collectorRange(event *xtrace.Event) {
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
			stack := event.Stack() // empty at the end of an assist
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

func (a *analyzer) resume(g *goroutine, event *xtrace.Event, at xtrace.Time) {
	g.processor, g.resumed = event.Proc(), at
	a.processors.start(at)
}

// close ends all segments and stops at the end of the trace.
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
