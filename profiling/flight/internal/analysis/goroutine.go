package analysis

import (
	"slices"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/profiling/states"
)

// An activity is what the trace says that a goroutine does. Kinds of states need the stack besides.
type activity uint8

const (
	running activity = iota
	assisting
	runnable
	syscalling
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

// reasons has the reasons of package runtime for blocking: traceBlockReasonStrings in traceruntime.go.
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

// A segment is a time in which a goroutine does one thing, for one span.
type segment struct {
	start, end xtrace.Time
	activity   activity
	stack      xtrace.Stack // where it waits; a running one has a stack only if it was seen there
	span       *span        // that it works for
	wake       *wake        // that ended the wait
}

// A wake is the end of a wait.
type wake struct {
	by    *goroutine // nil if the network poller or a timer ended it
	span  *span      // that the other goroutine worked for
	stack xtrace.Stack
}

// A goroutine is what is known of one goroutine while its events are read.
type goroutine struct {
	id       xtrace.GoID
	state    xtrace.GoState
	start    xtrace.Stack // of its first function
	creator  *goroutine   // nil if a timer or nothing in the trace created it
	created  bool         // in the trace
	past     []segment    // in the windows: in order, disjoint
	now      segment      // has no end yet
	assist   bool         // helps the garbage collector now
	assists  bool         // has helped it
	collects bool         // is a worker of the garbage collector

	processor xtrace.ProcID // while it runs
	resumed   xtrace.Time   // when it began to run there

	owner  owner
	served xtrace.Time // when the last root on it ended
	joined *root       // the last wanted root that it worked for
}

// segments returns the indexes of the past segments that overlap with [from, to).
func (g *goroutine) segments(from, to xtrace.Time) (first, end int) {
	first, _ = slices.BinarySearchFunc(g.past, from, func(s segment, from xtrace.Time) int {
		if s.end <= from {
			return -1
		}
		return 1
	})
	for end = first; end < len(g.past) && g.past[end].start < to; end++ {
	}
	return first, end
}

// change ends the current segment and begins the next one, at the time of an event.
func (a *analyzer) change(g *goroutine, at xtrace.Time, next activity, stack xtrace.Stack, w *wake) {
	a.end(g, at, w)
	g.now = segment{start: at, activity: next, stack: stack, span: g.owner.current()}
	a.join(g)
}

// end ends the current segment.
func (a *analyzer) end(g *goroutine, at xtrace.Time, w *wake) {
	if at > g.now.start && overlap(a.windows, g.now.start, at) {
		g.now.end, g.now.wake = at, w
		g.past = append(g.past, g.now)
	}
}

// busy returns running, or assisting.
func (g *goroutine) busy() activity {
	if g.assist {
		return assisting
	}
	return running
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
		g = &goroutine{id: id, now: segment{start: at, activity: waitingUnknown}}
		a.goroutines[id] = g
		if from == xtrace.GoNotExist {
			a.create(g, event, t.Stack)
		} else {
			// Any event of a goroutine comes after its status. Without one, it has been in this state since the trace began.
			g.now.start = a.first
		}
	}
	if from == to || from == xtrace.GoUndetermined {
		a.status(g, event, to, t.Stack)
		return
	}
	a.stopped(g, event, from)
	g.state = to
	switch to {
	case xtrace.GoRunning:
		a.resume(g, event, at)
		a.change(g, at, g.busy(), xtrace.NoStack, nil)
	case xtrace.GoRunnable:
		a.ready(g, event, from, t.Stack)
	case xtrace.GoSyscall:
		a.change(g, at, syscalling, t.Stack, nil)
	case xtrace.GoWaiting:
		a.block(g, at, t.Reason, t.Stack)
	case xtrace.GoNotExist:
		a.end(g, at, nil)
		delete(a.goroutines, id)
	}
}

// create begins a goroutine. It works for the request of its creator.
func (a *analyzer) create(g *goroutine, event *xtrace.Event, start xtrace.Stack) {
	g.created, g.start = true, start
	creator := a.goroutines[event.Goroutine()]
	if creator == nil {
		return
	}
	g.owner.inherited = creator.owner.current()
	if at := event.Time(); overlap(a.windows, at, at) {
		g.creator = creator // not elsewhere: it would keep all goroutines that have ended
	}
}

// status takes the state of a goroutine at the beginning of the trace, or of a generation of it.
func (a *analyzer) status(g *goroutine, event *xtrace.Event, state xtrace.GoState, stack xtrace.Stack) {
	if g.state == state {
		if g.now.stack == xtrace.NoStack && g.now.activity >= runnable {
			g.now.stack = stack
		}
		return
	}
	g.state = state
	switch state {
	case xtrace.GoRunning:
		g.now.activity = running
		a.resume(g, event, event.Time())
	case xtrace.GoRunnable:
		g.now.activity = runnable
	case xtrace.GoSyscall:
		g.now.activity = syscalling
	case xtrace.GoWaiting:
		g.now.activity = a.stacks.blocked(stack)
		g.collects = a.stacks.collector(stack)
	}
	if state != xtrace.GoRunning {
		g.now.stack = stack
	}
}

// ready handles a goroutine that waits for a processor from now on.
func (a *analyzer) ready(g *goroutine, event *xtrace.Event, from xtrace.GoState, stack xtrace.Stack) {
	var w *wake
	switch from {
	case xtrace.GoWaiting:
		w = &wake{stack: event.Stack()}
		if w.by = a.goroutines[event.Goroutine()]; w.by != nil {
			w.span = w.by.owner.current()
		}
		if g.now.activity == waitingUnknown {
			g.now.activity = a.stacks.ended(w.stack)
		}
		g.owner.woken(g.now.activity, w.span)
		stack = g.now.stack
	case xtrace.GoRunning: // preempted: this is a sample of where it ran
		if g.now.stack == xtrace.NoStack {
			g.now.stack = stack
		}
	case xtrace.GoSyscall:
		stack = g.now.stack
	}
	a.change(g, event.Time(), runnable, stack, w)
}

// block handles a goroutine that waits from now on.
func (a *analyzer) block(g *goroutine, at xtrace.Time, reason string, stack xtrace.Stack) {
	activity, ok := reasons[reason]
	if !ok {
		activity = waitingOther
	}
	g.owner.blocked(activity, stack)
	if !g.collects && (activity == waitingCollector || activity == waitingOther) {
		g.collects = a.stacks.collector(stack)
	}
	a.change(g, at, activity, stack, nil)
}

// function returns the function that g began with, as far as the trace has it.
func (g *goroutine) function(s *stacks) string {
	if frames := s.frames(g.start); len(frames) > 0 {
		return frames[0].Function
	}
	for i := range g.past {
		if frames := s.frames(g.past[i].stack); len(frames) > 0 {
			return frames[len(frames)-1].Function
		}
	}
	return ""
}

// assisted returns for how long g helped the garbage collector in [from, to).
func (g *goroutine) assisted(from, to xtrace.Time) (d time.Duration) {
	if !g.assists {
		return 0
	}
	first, end := g.segments(from, to)
	for _, s := range g.past[first:end] {
		if s.activity == assisting {
			d += min(s.end, to).Sub(max(s.start, from))
		}
	}
	return d
}

// kind returns what the goroutine did in a segment.
func (s *segment) kind(stacks *stacks) states.Kind {
	nobody := s.wake != nil && s.wake.by == nil // a timer, since the network poller has a reason of its own
	switch s.activity {
	case running:
		return states.Running
	case assisting, waitingCollector:
		return states.GCAssist
	case runnable:
		return states.Runnable
	case syscalling:
		return states.Syscall
	case waitingNetwork:
		return states.Network
	case waitingSleep:
		return states.Timer
	case waitingSend:
		return states.ChannelSend
	case waitingCondition:
		return states.Condition
	case waitingReceive, waitingSelect:
		switch class := stacks.wait(s.stack); {
		case class == states.Pool:
			return class
		case nobody:
			return states.Timer
		case s.activity == waitingSelect:
			return states.Select
		}
		return states.ChannelReceive
	case waitingSync:
		if class := stacks.wait(s.stack); class != states.Wait || s.wake == nil {
			return class
		}
		return stacks.wait(s.wake.stack)
	}
	return states.Wait
}
