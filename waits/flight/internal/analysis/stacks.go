package analysis

import (
	"strings"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// A stackID is the number of a stack. 0 is no stack.
type stackID uint32

// stacks number the stacks of the trace, and translate those that are asked for, each one once.
type stacks struct {
	ids  map[xtrace.Stack]stackID
	list []stack
}

type stack struct {
	of       xtrace.Stack
	known    bool // has been translated
	frames   []waits.Frame
	function string // see innermost
	wait     waits.Kind
}

func newStacks() *stacks {
	return &stacks{ids: map[xtrace.Stack]stackID{}, list: []stack{{known: true, wait: waits.Wait}}}
}

func (s *stacks) id(of xtrace.Stack) stackID {
	if of == xtrace.NoStack {
		return 0
	}
	id, ok := s.ids[of]
	if !ok {
		id = stackID(len(s.list))
		s.ids[of] = id
		s.list = append(s.list, stack{of: of})
	}
	return id
}

func (s *stacks) get(id stackID) *stack {
	entry := &s.list[id]
	if entry.known {
		return entry
	}
	entry.known = true
	for f := range entry.of.Frames() {
		entry.frames = append(entry.frames,
			waits.Frame{Function: f.Func, File: f.File, Line: int(f.Line)})
	}
	entry.function = innermost(entry.frames)
	entry.wait = classify(entry.frames)
	return entry
}

// frames returns the frames of a stack, which must not be changed.
func (s *stacks) frames(id stackID) []waits.Frame { return s.get(id).frames }

// function returns the innermost function of a stack outside the standard library, or "".
func (s *stacks) function(id stackID) string { return s.get(id).function }

// wait returns what a goroutine with this stack waits for in package sync or in a channel. It is
// Wait if the stack does not tell.
func (s *stacks) waitKind(id stackID) waits.Kind { return s.get(id).wait }

// polled returns what a goroutine with this stack waits for in the network poller.
func (s *stacks) pollKind(stack stackID) waits.Kind {
	frames := s.frames(stack)
	for _, f := range frames {
		switch name := f.Function; {
		case strings.HasPrefix(name, "os."):
			return waits.File
		case strings.HasPrefix(name, "net."):
			return waits.Network
		}
	}
	if len(frames) == 0 {
		return waits.Wait
	}
	return waits.Network
}

func innermost(frames []waits.Frame) string {
	for i := range frames {
		if name := frames[i].Function; !waiting.Standard(name) {
			return name
		}
	}
	return ""
}

// common returns the calls that both stacks have: what ran between the two was called by these.
func commonCalls(a, b []waits.Frame) []waits.Frame {
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

func classify(frames []waits.Frame) waits.Kind {
	for _, f := range frames {
		switch name := f.Function; {
		case strings.HasPrefix(name, "sync.(*Mutex)"), strings.HasPrefix(name, "sync.(*RWMutex)"),
			strings.HasPrefix(name, "internal/sync.(*Mutex)"),
			strings.HasPrefix(name, "internal/poll.(*fdMutex)"):
			return waits.Mutex
		case strings.HasPrefix(name, "sync.(*WaitGroup)"):
			return waits.WaitGroup
		case strings.HasPrefix(name, "sync.(*Cond)"):
			return waits.Condition
		case name == "runtime.gcStart", name == "runtime.GC", name == "runtime.stopTheWorld":
			return waits.GCAssist
		case name == "database/sql.(*DB).conn":
			return waits.Pool
		case !waiting.Standard(name):
			return waits.Wait
		}
	}
	return waits.Wait
}

// blocked returns what a goroutine waits for that has been blocked since before the trace.
func (s *stacks) blockReason(stack stackID) activity {
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
func (s *stacks) wakeReason(by stackID) activity {
	for _, f := range s.frames(by) {
		switch name := f.Function; {
		case strings.HasPrefix(name, "runtime.chansend"), name == "runtime.closechan",
			name == "runtime.selectgo":
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
func (s *stacks) isCollector(stack stackID) bool {
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

// opens reports whether the stack is of a goroutine that opens a connection for a pool of package
// database/sql.
func (s *stacks) opensConnection(stack stackID) bool {
	for _, f := range s.frames(stack) {
		if f.Function == "database/sql.(*DB).openNewConnection" {
			return true
		}
	}
	return false
}
