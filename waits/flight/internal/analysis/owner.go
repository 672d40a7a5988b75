package analysis

import (
	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/waits"
)

// A root is a local root span: one request.
type root struct {
	id      trace.SpanID // zero before the end of a root that started before the trace
	traceID trace.TraceID
	parent  trace.SpanID // of another process or request; zero for none, or before the root's note
	name    string
	span    *span
	task    xtrace.TaskID
	start   xtrace.Time // zero if the root started before the trace
	end     xtrace.Time // zero if the root is open
	server  *goroutine  // the root started here
	endedOn *goroutine  // the root ended here

	outer *root // the root of an instrumentation around this one, for the same request

	earliest xtrace.Time // possible start of a root that started before the trace

	wanted  bool
	clock   *xtrace.ClockSnapshot   // at its start
	workers []*goroutine            // of a wanted root: its goroutines, the server first
	names   map[trace.SpanID]string // of its spans; nil for a root of the trace that is not wanted
}

// request returns the outermost root of the same request.
func (r *root) request() *root {
	if r.outer != nil {
		return r.outer
	}
	return r
}

// within reports whether r is of, or a root within of for the same request.
func (r *root) within(of *root) bool { return r == of || of != nil && r.outer == of }

// identify adds the request of the root to a party.
func (r *root) identify(p *waits.Party) {
	p.Request, p.TraceID, p.RootID = r.name, r.traceID, r.id
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

// pass returns the span for a goroutine that passer has created.
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
// of its creator, as long as that request runs. A wake-up says nothing: a pool of connections, a
// mutex or a channel hands over between requests, too.
type owner struct {
	own       []*span // started on this goroutine; current removes ended spans
	inherited *span
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
		o.inherited = o.inherited.open()
	}
	return o.inherited
}
