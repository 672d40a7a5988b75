package analysis

import (
	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/waiting"
)

// An activity is what a goroutine does by the trace. A kind of interval also needs the stack.
type activity uint8

const (
	executing     activity = iota
	executingNote          // executing since a note, with the stack of the note
	assisting
	runnable
	inSyscall
	waitingUnknown // began before the trace: the reason is unknown
	waitingSync
	waitingReceive
	waitingSend
	waitingSelect
	waitingNetwork
	waitingSleep
	waitingCondition
	waitingCollector
	waitingOther
)

// reasons maps the runtime's reasons for blocking: traceBlockReasonStrings in traceruntime.go.
var reasons = map[string]activity{
	"sync":                         waitingSync,
	"chan receive":                 waitingReceive,
	"chan send":                    waitingSend,
	"select":                       waitingSelect,
	"network":                      waitingNetwork,
	"sleep":                        waitingSleep,
	"sync.(*Cond).Wait":            waitingCondition,
	"GC mark assist wait for work": waitingCollector,
	"GC background sweeper wait":   waitingCollector,
	"GC weak to strong wait":       waitingCollector,
	"wait until GC ends":           waitingCollector,
	"preempted":                    waitingCollector, // to have its stack scanned
}

// A goroutine is the state of one goroutine while its events are read.
type goroutine struct {
	id       xtrace.GoID
	state    xtrace.GoState
	start    xtrace.Stack // of its first function
	creator  *goroutine   // nil if a timer or nothing in the trace created it
	created  bool         // within the trace
	records  []record     // the segments in the windows: in order, disjoint
	inner    []inner      // ended inner spans in the windows
	current  openSegment
	assist   bool // assists the garbage collector now
	assists  bool // has assisted
	collects bool // works for the garbage collector

	processor xtrace.ProcID // while it runs
	resumed   xtrace.Time   // begin of running on processor
	tally     tally         // of processors.holder

	owner       owner
	earlier     []*root     // served from before the trace until their end; by time
	servedUntil xtrace.Time // end of the last root on the goroutine
	lastRoot    *root       // last wanted root on the goroutine
}

func (g *goroutine) runActivity() activity {
	if g.assist {
		return assisting
	}
	return executing
}

func (a *analyzer) transition(event *xtrace.Event) {
	t := event.StateTransition()
	switch t.Resource.Kind {
	case xtrace.ResourceGoroutine:
	case xtrace.ResourceProc:
		a.processors.see(t.Resource.Proc())
		return
	default:
		return
	}
	at, id := event.Time(), t.Resource.Goroutine()
	from, to := t.Goroutine()
	g := a.goroutines[id]
	if g == nil {
		g = &goroutine{id: id, current: openSegment{start: at, activity: waitingUnknown}}
		a.goroutines[id] = g
		if from == xtrace.GoNotExist {
			a.create(g, event, t.Stack)
		} else {
			// The status precedes other events: g has been in this state since the begin.
			g.current.start = a.first
		}
	}
	if from == to || from == xtrace.GoUndetermined {
		a.status(g, event, to, t.Stack)
		return
	}
	switch from {
	case xtrace.GoRunning:
		a.processors.stop(g, at)
	case xtrace.GoSyscall:
		a.processors.syscall(at.Sub(g.current.start))
	default:
	}
	g.state = to
	switch to {
	case xtrace.GoRunning:
		a.resume(g, event, at)
		a.change(g, at, g.runActivity(), xtrace.NoStack, nil)
	case xtrace.GoRunnable:
		a.ready(g, event, from, t.Stack)
	case xtrace.GoSyscall:
		a.change(g, at, inSyscall, t.Stack, nil)
	case xtrace.GoWaiting:
		a.block(g, at, t.Reason, t.Stack)
	case xtrace.GoNotExist:
		a.end(g, at, nil)
		delete(a.goroutines, id)
	default:
	}
}

// create begins a goroutine, which works for the request of its creator.
func (a *analyzer) create(g *goroutine, event *xtrace.Event, start xtrace.Stack) {
	g.created, g.start = true, start
	creator := a.goroutines[event.Goroutine()]
	if creator == nil {
		return
	}
	g.owner.inherited = a.pass(creator.owner.current(), creator, event.Time())
	if at := event.Time(); overlap(a.windows, at, at) {
		g.creator = creator // outside windows, creators would keep ended goroutines in memory
	}
}

// status sets the state of a goroutine at the beginning of the trace, or of a generation.
func (a *analyzer) status(g *goroutine, event *xtrace.Event, state xtrace.GoState,
	stack xtrace.Stack) {
	if g.state == state {
		if g.current.stack == xtrace.NoStack && g.current.activity >= runnable {
			g.current.stack = stack
		}
		return
	}
	g.state = state
	switch state {
	case xtrace.GoRunning:
		g.current.activity = executing
		a.resume(g, event, event.Time())
	case xtrace.GoRunnable:
		g.current.activity = runnable
	case xtrace.GoSyscall:
		g.current.activity = inSyscall
	case xtrace.GoWaiting:
		g.current.activity = a.stacks.activity(a.stacks.id(stack), blockRules)
		g.collects = a.stacks.isCollector(a.stacks.id(stack))
	default:
	}
	if state != xtrace.GoRunning {
		g.current.stack = stack
	}
}

func (a *analyzer) ready(g *goroutine, event *xtrace.Event, from xtrace.GoState,
	stack xtrace.Stack) {
	var w *wake
	switch from {
	case xtrace.GoWaiting:
		by := a.stacks.id(event.Stack())
		w = &wake{stack: by}
		if w.by = a.goroutines[event.Goroutine()]; w.by != nil {
			w.span = w.by.owner.current()
		}
		if g.current.activity == waitingUnknown {
			g.current.activity = a.stacks.activity(by, wakeRules)
		}
		stack = g.current.stack
	case xtrace.GoRunning: // preempted
		g.current.observe(stack)
	case xtrace.GoSyscall:
		stack = g.current.stack
	default: // a new goroutine
	}
	a.change(g, event.Time(), runnable, stack, w)
}

func (a *analyzer) block(g *goroutine, at xtrace.Time, reason string, stack xtrace.Stack) {
	activity, ok := reasons[reason]
	if !ok {
		activity = waitingOther
	}
	if !g.collects && (activity == waitingCollector || activity == waitingOther) {
		g.collects = a.stacks.isCollector(a.stacks.id(stack))
	}
	a.change(g, at, activity, stack, nil)
}

func (g *goroutine) function(s *stacks) string {
	if frames := s.frames(s.id(g.start)); len(frames) > 0 {
		return waiting.Name(&frames[0])
	}
	for i := range g.records {
		if frames := s.frames(g.records[i].stack); len(frames) > 0 {
			return waiting.Name(&frames[len(frames)-1])
		}
	}
	return ""
}

// served returns the span of the root that started before the trace and that g served at a time, or
// nil.
func (g *goroutine) served(at xtrace.Time) *span {
	for _, r := range g.earlier {
		if r.earliest <= at && at <= r.end {
			return r.span
		}
	}
	return nil
}
