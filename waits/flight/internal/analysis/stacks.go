package analysis

import (
	"cmp"
	"slices"
	"strings"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// A stackID is the number of a stack; 0 is no stack.
type stackID uint32

// stacks numbers the stacks of the trace, and translates each requested stack once.
type stacks struct {
	ids  map[xtrace.Stack]stackID
	list []stack

	own  func(function string) bool // reports whether a function belongs to the program
	owns map[string]bool            // results of own
}

type stack struct {
	of     xtrace.Stack
	known  bool // the fields below are set
	frames []waits.Frame
	site   site
	wait   waits.Kind // in package sync or in a channel; Wait if the stack does not tell
}

// A site is the place in the source where a goroutine runs or waits.
type site struct {
	function string // the program's innermost function; without one, the innermost of a library
	via      string // the outermost function of a library that function calls, or ""
	own      bool   // function belongs to the program
}

// nearer returns the site of another goroutine that s waits for, unless s alone is the program's.
func (s site) nearer(other site) site {
	if other.function == "" || s.own && !other.own {
		return s
	}
	return other
}

func newStacks(own func(function string) bool) *stacks {
	return &stacks{
		ids: map[xtrace.Stack]stackID{}, list: []stack{{known: true, wait: waits.Wait}},
		own: own, owns: map[string]bool{},
	}
}

// isOwn reports whether a function belongs to the program.
func (s *stacks) isOwn(function string) bool {
	own, known := s.owns[function]
	if !known {
		own = !waiting.Standard(function) && s.own(function)
		s.owns[function] = own
	}
	return own
}

// The ranks of functions, in the order of preference for names of sites.
const (
	ofLibrary = iota
	unnamed   // a function literal of a package variable
	named
)

func (s *stacks) rank(function string) int {
	switch {
	case !s.isOwn(function):
		return ofLibrary
	case waiting.IsUnnamed(function):
		return unnamed
	default:
		return named
	}
}

// site returns the site of a stack. The zero site stands for a stack of the standard library. A
// function literal of a package variable gives way to its caller.
func (s *stacks) site(frames []waits.Frame) site {
	var literal site
	innermost, outermost := "", ""
	for i := range frames {
		f := &frames[i]
		switch rank := s.rank(f.Function); {
		case rank == named:
			return site{f.Function, outermost, true}
		case rank == unnamed && !literal.own:
			literal = site{waiting.Name(f), outermost, true}
		case rank == ofLibrary && !waiting.Standard(f.Function):
			innermost, outermost = cmp.Or(innermost, waiting.Name(f)), f.Function
		}
	}
	if literal.own {
		return literal
	}
	return site{function: innermost}
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
	entry.site = s.site(entry.frames)
	entry.wait = classify(entry.frames)
	return entry
}

// frames returns the frames of a stack, which must not be changed.
func (s *stacks) frames(id stackID) []waits.Frame { return s.get(id).frames }

// pollKind returns the kind of a wait in the network poller.
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

// callsC reports whether the goroutine is in C code.
func (s *stacks) callsC(stack stackID) bool {
	frames := s.frames(stack)
	return len(frames) > 0 && waiting.IsCgo(frames[0].Function)
}

// commonCalls returns the calls of both stacks, which enclose all calls in between.
func commonCalls(a, b []waits.Frame) []waits.Frame {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
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

// A rule derives an activity from a function on a stack.
type rule struct {
	prefix   string // of the function
	activity activity
}

// blockRules find the activity of a goroutine that has waited since before the trace, by its stack.
var blockRules = []rule{
	{"runtime.chanrecv", waitingReceive},
	{"runtime.chansend", waitingSend},
	{"runtime.selectgo", waitingSelect},
	{"internal/poll.runtime_pollWait", waitingNetwork},
	{"time.Sleep", waitingSleep},
	{"sync.(*Cond)", waitingCondition},
	{"sync.", waitingSync},
	{"internal/sync.", waitingSync},
	{"runtime.gc", waitingCollector},
}

// wakeRules find the activity of a goroutine by the stack of the goroutine that ended its wait.
var wakeRules = []rule{
	{"runtime.chansend", waitingReceive},
	{"runtime.selectgo", waitingReceive},
	{"runtime.chanrecv", waitingSend},
	{"sync.(*Cond)", waitingCondition},
	{"sync.", waitingSync},
	{"internal/sync.", waitingSync},
}

// activity applies rules to the innermost function that has a rule.
func (s *stacks) activity(stack stackID, rules []rule) activity {
	for _, f := range s.frames(stack) {
		for _, r := range rules {
			if strings.HasPrefix(f.Function, r.prefix) {
				return r.activity
			}
		}
	}
	return waitingUnknown
}

// pollsNetwork reports whether the goroutine ended a wait in the network poller by chance. Such a
// goroutine polled the network for the scheduler, after it had stopped the world. Others close the
// connection or set its deadline.
func (s *stacks) pollsNetwork(stack stackID) bool {
	return !slices.ContainsFunc(s.frames(stack), func(f waits.Frame) bool {
		return strings.HasPrefix(f.Function, "internal/poll.")
	})
}

// isCollector reports whether the stack belongs to a goroutine of the garbage collector.
func (s *stacks) isCollector(stack stackID) bool {
	frames := s.frames(stack)
	if len(frames) == 0 {
		return false
	}
	collectors := []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge"}
	return slices.Contains(collectors, frames[len(frames)-1].Function)
}

// closes reports whether the goroutine ended a wait for a channel by closing the channel, as a
// context or the end of a pool does. Stacks of other operations begin in the runtime.
func (s *stacks) closes(stack stackID) bool {
	frames := s.frames(stack)
	return len(frames) > 0 && !strings.HasPrefix(frames[0].Function, "runtime.")
}

// handsOver reports whether the goroutine returned a connection to a pool of database/sql.
func (s *stacks) handsOver(stack stackID) bool {
	return s.calls(stack, "database/sql.(*DB).putConnDBLocked")
}

// opensConnection reports whether the goroutine opens a connection for a pool of database/sql.
func (s *stacks) opensConnection(stack stackID) bool {
	return s.calls(stack, "database/sql.(*DB).openNewConnection")
}

func (s *stacks) calls(stack stackID, function string) bool {
	return slices.ContainsFunc(s.frames(stack), func(f waits.Frame) bool {
		return f.Function == function
	})
}
