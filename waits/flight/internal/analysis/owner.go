package analysis

import (
	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"
)

// A root is a local root span: one request.
type root struct {
	id      trace.SpanID // zero if the root started before the trace, and has not ended yet
	traceID trace.TraceID
	name    string
	span    *span
	task    xtrace.TaskID
	start   xtrace.Time // zero if it started before the trace
	end     xtrace.Time // zero if it has not ended
	server  *goroutine  // on which it started
	endedOn *goroutine  // on which it ended

	earliest xtrace.Time // of a root that started before the trace: nothing is known before

	wanted  bool
	clock   *xtrace.ClockSnapshot // at its start
	workers []*goroutine          // that worked for it, the server first; only of a wanted root
	names   map[trace.SpanID]string
}

// A span is a span of a request.
type span struct {
	id        trace.SpanID
	root      *root
	parent    *span       // nil for the root
	startedOn *goroutine  // on which it started
	start     xtrace.Time // zero for the root: the spans inside may begin before its note
	ended     bool
	index     uint32 // in analyzer.stored

	// A passed span stands for its parent. It has the goroutine that passed the span on to another
	// one, and when. The first one may have worked for an inner span at that time.
	passer *goroutine
	at     xtrace.Time
	passes int // from goroutine to goroutine
}

// maxPasses is how often a span is passed on before it is taken as it is.
const maxPasses = 8

// pass returns the span that a goroutine works for which another one, via, has created or given a
// job.
func (a *analyzer) pass(s *span, passer *goroutine, at xtrace.Time) *span {
	if s == nil || s.passes == maxPasses || !overlap(a.windows, at, at) {
		return s
	}
	return &span{id: s.id, root: s.root, parent: s, start: s.start, passer: passer, at: at,
		passes: s.passes + 1}
}

// open returns the innermost span around s that has not ended, or nil.
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

// An owner knows for which span a goroutine works. Its own spans come first. Without one, it is the
// span of its creator, as long as that request runs. Without that, a worker of a pool works for the
// request that woke it.
type owner struct {
	own       []*span // started on this goroutine; ended ones are removed when they are met
	inherited *span
	adopted   *span

	// Where a worker of a pool waited before it was adopted. When it waits there again, its job is
	// done. A wait that began before the trace may have no stack: then the job ends with the
	// request, or when another request wakes the worker.
	idle      activity
	idleStack xtrace.Stack
}

// current returns the innermost span that the goroutine works for, or nil.
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

// woken tells a goroutine that one that works for a span, or for none, has ended its wait. It
// returns true if the goroutine works for the same span from now on.
func (o *owner) wake(from activity, stack xtrace.Stack, by *span) bool {
	if by == nil || from != waitingReceive && from != waitingSelect && from != waitingCondition {
		return false
	}
	current := o.current()
	if current != nil && current != o.adopted {
		return false // it works for a request in its own right
	}
	if current == nil || current.root != by.root {
		o.idle, o.idleStack = from, stack
	}
	return true
}

// blocked tells a goroutine that it waits.
func (o *owner) block(activity activity, stack xtrace.Stack) {
	if o.adopted != nil && activity == o.idle && samePlace(stack, o.idleStack) {
		o.adopted = nil
	}
}

// samePlace reports whether two stacks are of the same calls. Stacks of different generations of
// the trace never compare equal.
func samePlace(a, b xtrace.Stack) bool {
	if a == b {
		return true
	}
	if a == xtrace.NoStack || b == xtrace.NoStack {
		return false
	}
	var counters []uint64
	for frame := range a.Frames() {
		counters = append(counters, frame.PC)
	}
	i := 0
	for frame := range b.Frames() {
		if i == len(counters) || counters[i] != frame.PC {
			return false
		}
		i++
	}
	return i == len(counters)
}
