package bridge

import "go.opentelemetry.io/otel/trace"

// A parentContext stores the parts of the parent's span context that may differ from the span's
// own. Most spans share the trace id and the trace state with their parent.
type parentContext struct {
	id           trace.SpanID
	flags        trace.TraceFlags
	remote       bool
	sameTrace    bool // the parent has a trace id: the span's own
	foreignTrace bool // the trace started in another process, or perhaps did
	ownState     bool // a sampler changed the trace state: spanDetails has the parent's
}

// hasForeignTrace reports whether the trace of the active span started in another process, or
// perhaps did: a span of another provider does not tell.
func hasForeignTrace(active trace.Span) bool {
	switch s := active.(type) {
	case *recordedSpan:
		return s.parent.foreignTrace
	case *droppedSpan:
		return s.foreignTrace
	default:
		return active.SpanContext().IsValid()
	}
}

func (p *parentContext) isLocal() bool { return p.sameTrace && p.id.IsValid() && !p.remote }

// setParent sets the parent of a new span. s.spanContext must be set.
func (s *recordedSpan) setParent(sc *trace.SpanContext, foreignTrace bool) {
	s.parent = parentContext{id: sc.SpanID(), flags: sc.TraceFlags(), remote: sc.IsRemote(),
		sameTrace: sc.TraceID().IsValid(), foreignTrace: foreignTrace}
	state, own := sc.TraceState(), s.spanContext.TraceState()
	if state.Len()+own.Len() > 0 && state.String() != own.String() {
		s.parent.ownState, s.withDetails().parentState = true, state
	}
}

// Parent returns the span context of the parent span.
func (s *recordedSpan) Parent() trace.SpanContext {
	p := &s.parent
	c := trace.SpanContextConfig{SpanID: p.id, TraceFlags: p.flags,
		TraceState: s.spanContext.TraceState(), Remote: p.remote}
	if p.sameTrace {
		c.TraceID = s.spanContext.TraceID()
	}
	if p.ownState {
		c.TraceState = read(s, func() trace.TraceState { return s.details.parentState })
	}
	return trace.NewSpanContext(c)
}
