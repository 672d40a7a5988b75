package analysis

import (
	xtrace "golang.org/x/exp/trace"
)

// An activity is what the trace says that a goroutine does. Kinds of states need the stack besides.
type activity uint8

const (
	executing     activity = iota
	executingNote          // executing, since a note; the stack is the note's
	assisting
	runnable
	inSyscall
	waitingUnknown // since before the trace: it has no reason
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

// reasons has the reasons of package runtime for blocking: traceBlockReasonStrings in
// traceruntime.go.
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

// A goroutine is what is known of one goroutine while its events are read.
type goroutine struct {
	id       xtrace.GoID
	state    xtrace.GoState
	start    xtrace.Stack // of its first function
	creator  *goroutine   // nil if a timer or nothing in the trace created it
	created  bool         // in the trace
	records  []record     // the segments in the windows: in order, disjoint
	inner    []inner      // that ended, in the windows
	current  openSegment
	assist   bool // helps the garbage collector now
	assists  bool // has helped it
	collects bool // is a worker of the garbage collector

	processor xtrace.ProcID // while it runs
	resumed   xtrace.Time   // when it began to run there
	tally     tally         // of processors.most

	owner       owner
	servedUntil xtrace.Time // when the last root on it ended
	lastRoot    *root       // the last wanted root that it worked for
}

// busy returns executing, or assisting.
func (g *goroutine) runActivity() activity {
	if g.assist {
		return assisting
	}
	return executing
}

// transition follows the state of a goroutine.
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
			// Any event of a goroutine comes after its status. Without one, it has been in this
			// state since the trace began.
			g.current.start = a.first
		}
	}
	if from == to || from == xtrace.GoUndetermined {
		a.status(g, event, to, t.Stack)
		return
	}
	a.leave(g, event, from)
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
	default: // no goroutine comes into another state
	}
}

// create begins a goroutine. It works for the request of its creator.
func (a *analyzer) create(g *goroutine, event *xtrace.Event, start xtrace.Stack) {
	g.created, g.start = true, start
	creator := a.goroutines[event.Goroutine()]
	if creator == nil {
		return
	}
	g.owner.inherited = a.pass(creator.owner.current(), creator, event.Time())
	if at := event.Time(); overlap(a.windows, at, at) {
		g.creator = creator // not elsewhere: it would keep all goroutines that have ended
	}
}

// status takes the state of a goroutine at the beginning of the trace, or of a generation of it.
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
		g.current.activity = a.stacks.blockReason(a.stacks.id(stack))
		g.collects = a.stacks.isCollector(a.stacks.id(stack))
	default:
	}
	if state != xtrace.GoRunning {
		g.current.stack = stack
	}
}

// ready handles a goroutine that waits for a processor from now on.
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
			g.current.activity = a.stacks.wakeReason(by)
		}
		if g.owner.wake(g.current.activity, g.current.stack, w.span) {
			g.owner.adopted = a.pass(w.span, w.by, event.Time())
		}
		stack = g.current.stack
	case xtrace.GoRunning: // preempted
		g.current.observe(stack)
	case xtrace.GoSyscall:
		stack = g.current.stack
	default: // it is new
	}
	a.change(g, event.Time(), runnable, stack, w)
}

// block handles a goroutine that waits from now on.
func (a *analyzer) block(g *goroutine, at xtrace.Time, reason string, stack xtrace.Stack) {
	activity, ok := reasons[reason]
	if !ok {
		activity = waitingOther
	}
	g.owner.block(activity, stack)
	if !g.collects && (activity == waitingCollector || activity == waitingOther) {
		g.collects = a.stacks.isCollector(a.stacks.id(stack))
	}
	a.change(g, at, activity, stack, nil)
}

// function returns the function that g began with, as far as the trace has it.
func (g *goroutine) function(s *stacks) string {
	if frames := s.frames(s.id(g.start)); len(frames) > 0 {
		return frames[0].Function
	}
	for i := range g.records {
		if frames := s.frames(g.records[i].stack); len(frames) > 0 {
			return frames[len(frames)-1].Function
		}
	}
	return ""
}
