package analysis

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"
)

// A root is a local root span: one request.
type root struct {
	id      trace.SpanID // zero before the end of a root that started before the trace
	traceID trace.TraceID
	name    string
	span    *span
	task    xtrace.TaskID
	start   xtrace.Time // zero if the root started before the trace
	end     xtrace.Time // zero if the root is open
	server  *goroutine  // the root started here
	endedOn *goroutine  // the root ended here

	earliest xtrace.Time // possible start of a root that started before the trace

	wanted  bool
	clock   *xtrace.ClockSnapshot // at its start
	workers []*goroutine          // of a wanted root: its goroutines, the server first
	names   map[trace.SpanID]string
}

// A span is a span of a request, or a passed span.
type span struct {
	id        trace.SpanID
	root      *root
	parent    *span // nil for the root
	startedOn *goroutine
	start     xtrace.Time // zero for the root: inner spans may begin before its note
	ended     bool
	index     uint32 // in analyzer.stored

	// A passed span stands for its parent: passer passed the span on to another goroutine, at a
	// time. The passer may have worked for an inner span of parent at that time.
	passer *goroutine
	at     xtrace.Time
	passes int
}

// maxPasses is the most passes of a span. A further pass returns the span itself.
const maxPasses = 8

// pass returns the span for a goroutine that passer has created or given a job.
func (a *analyzer) pass(s *span, passer *goroutine, at xtrace.Time) *span {
	if s == nil || s.passes == maxPasses || !overlap(a.windows, at, at) {
		return s
	}
	return &span{
		id: s.id, root: s.root, parent: s, start: s.start,
		passer: passer, at: at, passes: s.passes + 1,
	}
}

func (s *span) open() *span {
	for s != nil {
		if s.passer != nil {
			if open := s.parent.open(); open != s.parent {
				return open
			}
			return s
		}
		if !s.ended {
			return s
		}
		s = s.parent
	}
	return nil
}

// An owner determines the span of a goroutine: the goroutine's own spans come first, then the span
// of its creator, as long as that request runs. Otherwise, a worker of a pool works for the request
// that woke the worker.
type owner struct {
	own       []*span // started on this goroutine; current removes ended spans
	inherited *span
	adopted   *span

	// idle and idleStack are the wait of a worker of a pool before the worker was adopted. The
	// worker's job ends when the worker waits there again. A wait that began before the trace may
	// lack a stack: then the job ends with the request, or when another request wakes the worker.
	idle      activity
	idleStack xtrace.Stack
}

// current returns the innermost open span of the goroutine, or nil.
func (o *owner) current() *span {
	for n := len(o.own); n > 0; n-- {
		if s := o.own[n-1]; !s.ended {
			return s
		}
		o.own = o.own[:n-1]
	}
	if o.inherited != nil {
		if o.inherited = o.inherited.open(); o.inherited != nil {
			return o.inherited
		}
	}
	if o.adopted != nil {
		o.adopted = o.adopted.open()
	}
	return o.adopted
}

// wake handles the end of a wait by a goroutine that works for the span by, or for none. It returns
// true if the goroutine works for the same span from now on.
func (o *owner) wake(from activity, stack xtrace.Stack, by *span) bool {
	if by == nil || from != waitingReceive && from != waitingSelect && from != waitingCondition {
		return false
	}
	current := o.current()
	if current != nil && current != o.adopted {
		return false // own or inherited spans come first
	}
	if current == nil || current.root != by.root {
		o.idle, o.idleStack = from, stack
	}
	return true
}

func (o *owner) block(activity activity, stack xtrace.Stack) {
	if o.adopted != nil && activity == o.idle && samePlace(stack, o.idleStack) {
		o.adopted = nil
	}
}

// samePlace compares the calls of stacks: stacks of different generations never compare equal.
func samePlace(a, b xtrace.Stack) bool {
	if a == b {
		return true
	}
	if a == xtrace.NoStack || b == xtrace.NoStack {
		return false
	}
	return slices.Equal(counters(a), counters(b))
}

func counters(s xtrace.Stack) (list []uint64) {
	for frame := range s.Frames() {
		list = append(list, frame.PC)
	}
	return list
}
