package analysis

import (
	"strings"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/profiling/states"
)

// stacks translate stacks of the trace, each one once.
type stacks struct {
	known map[xtrace.Stack][]states.Frame
	own   map[xtrace.Stack]string
	waits map[xtrace.Stack]states.Kind
}

func newStacks() *stacks {
	return &stacks{
		known: map[xtrace.Stack][]states.Frame{},
		own:   map[xtrace.Stack]string{},
		waits: map[xtrace.Stack]states.Kind{},
	}
}

// frames returns the frames of a stack, which must not be changed.
func (s *stacks) frames(stack xtrace.Stack) []states.Frame {
	if stack == xtrace.NoStack {
		return nil
	}
	frames, ok := s.known[stack]
	if !ok {
		for f := range stack.Frames() {
			frames = append(frames, states.Frame{Function: f.Func, File: f.File, Line: int(f.Line)})
		}
		s.known[stack] = frames
	}
	return frames
}

// function returns the innermost function of a stack outside the standard library, or "".
func (s *stacks) function(stack xtrace.Stack) string {
	if stack == xtrace.NoStack {
		return ""
	}
	name, ok := s.own[stack]
	if !ok {
		name = innermost(s.frames(stack))
		s.own[stack] = name
	}
	return name
}

func innermost(frames []states.Frame) string {
	for i := range frames {
		if name := frames[i].Function; !standard(name) {
			return name
		}
	}
	return ""
}

// common returns the calls that both stacks have: what ran between the two was called by these.
func common(a, b []states.Frame) []states.Frame {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n].Function == b[len(b)-1-n].Function {
		n++
	}
	return a[len(a)-n:]
}

// wait returns what a goroutine waits for that is blocked by package sync, or in a channel. It is Wait if it is neither
// of those that the stack tells.
func (s *stacks) wait(stack xtrace.Stack) states.Kind {
	if stack == xtrace.NoStack {
		return states.Wait
	}
	kind, ok := s.waits[stack]
	if !ok {
		kind = s.classify(stack)
		s.waits[stack] = kind
	}
	return kind
}

func (s *stacks) classify(stack xtrace.Stack) states.Kind {
	for _, f := range s.frames(stack) {
		switch name := f.Function; {
		case strings.HasPrefix(name, "sync.(*Mutex)"), strings.HasPrefix(name, "sync.(*RWMutex)"),
			strings.HasPrefix(name, "internal/sync.(*Mutex)"), strings.HasPrefix(name, "internal/poll.(*fdMutex)"):
			return states.Mutex
		case strings.HasPrefix(name, "sync.(*WaitGroup)"):
			return states.WaitGroup
		case strings.HasPrefix(name, "sync.(*Cond)"):
			return states.Condition
		case name == "runtime.gcStart", name == "runtime.GC", name == "runtime.stopTheWorld":
			return states.GCAssist
		case name == "database/sql.(*DB).conn":
			return states.Pool
		case !standard(name):
			return states.Wait
		}
	}
	return states.Wait
}

// blocked returns what a goroutine waits for that has been blocked since before the trace.
func (s *stacks) blocked(stack xtrace.Stack) activity {
	for _, f := range s.frames(stack) {
		switch name := f.Function; {
		case strings.HasPrefix(name, "runtime.chanrecv"):
			return waitingReceive
		case strings.HasPrefix(name, "runtime.chansend"):
			return waitingSend
		case name == "runtime.selectgo":
			return waitingSelect
		case name == "internal/poll.runtime_pollWait":
			return waitingNetwork
		case name == "time.Sleep":
			return waitingSleep
		case strings.HasPrefix(name, "sync.(*Cond)"):
			return waitingCondition
		case strings.HasPrefix(name, "sync."), strings.HasPrefix(name, "internal/sync."):
			return waitingSync
		case strings.HasPrefix(name, "runtime.gc"):
			return waitingCollector
		}
	}
	return waitingUnknown
}

// ended returns what a goroutine waited for whose wait was ended by a goroutine with this stack.
func (s *stacks) ended(by xtrace.Stack) activity {
	for _, f := range s.frames(by) {
		switch name := f.Function; {
		case strings.HasPrefix(name, "runtime.chansend"), name == "runtime.closechan", name == "runtime.selectgo":
			return waitingReceive
		case strings.HasPrefix(name, "runtime.chanrecv"):
			return waitingSend
		case strings.HasPrefix(name, "sync.(*Cond)"):
			return waitingCondition
		case strings.HasPrefix(name, "sync."), strings.HasPrefix(name, "internal/sync."):
			return waitingSync
		}
	}
	return waitingUnknown
}

// collector reports whether the stack is of a goroutine of the garbage collector.
func (s *stacks) collector(stack xtrace.Stack) bool {
	frames := s.frames(stack)
	if len(frames) == 0 {
		return false
	}
	switch frames[len(frames)-1].Function {
	case "runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge":
		return true
	}
	return false
}

// opens reports whether the stack is of a goroutine that opens a connection for a pool of package database/sql.
func (s *stacks) opens(stack xtrace.Stack) bool {
	for _, f := range s.frames(stack) {
		if f.Function == "database/sql.(*DB).openNewConnection" {
			return true
		}
	}
	return false
}
