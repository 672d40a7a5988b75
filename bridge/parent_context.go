package bridge

import "go.opentelemetry.io/otel/trace"

// A parentContext is the context of a span's parent, without what is the span's own: the trace id, and mostly the trace state.
type parentContext struct {
	id     trace.SpanID
	flags  trace.TraceFlags
	same   bool // the parent has a trace id
	remote bool
	state  bool // the parent's trace state is not the span's own: a sampler has changed that. The span's details have it
}

func parentOf(sc *trace.SpanContext) parentContext {
	return parentContext{id: sc.SpanID(), flags: sc.TraceFlags(), same: sc.TraceID().IsValid(), remote: sc.IsRemote()}
}

// isLocal reports whether the parent is a span of this process.
func (p *parentContext) isLocal() bool { return p.same && p.id.IsValid() && !p.remote }

// setParent notes the context of the parent. The span has its own context, and nobody else has the span.
func (s *recordedSpan) setParent(sc *trace.SpanContext) {
	s.parent = parentOf(sc)
	its, own := sc.TraceState(), s.spanContext.TraceState()
	if its.Len()+own.Len() > 0 && its.String() != own.String() {
		s.parent.state, s.withDetails().parentState = true, its
	}
}

// Parent returns the context of the parent.
func (s *recordedSpan) Parent() trace.SpanContext {
	p := &s.parent
	c := trace.SpanContextConfig{SpanID: p.id, TraceFlags: p.flags, TraceState: s.spanContext.TraceState(), Remote: p.remote}
	if p.same {
		c.TraceID = s.spanContext.TraceID()
	}
	if p.state {
		c.TraceState = read(s, func() trace.TraceState { return s.details.parentState })
	}
	return trace.NewSpanContext(c)
}
