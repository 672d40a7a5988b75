package bridge

import "go.opentelemetry.io/otel/trace"

// A parentContext is the context of a span's parent, without what is the span's own: the trace id,
// and mostly the trace state.
type parentContext struct {
	id     trace.SpanID
	flags  trace.TraceFlags
	same   bool // the parent has a trace id
	remote bool

	elsewhere bool // the trace began in another process, as far as is known

	// the parent's trace state is not the span's own: a sampler has changed that. The span's details have it
	state bool
}

func parentOf(sc *trace.SpanContext) parentContext {
	return parentContext{id: sc.SpanID(), flags: sc.TraceFlags(), same: sc.TraceID().IsValid(),
		remote: sc.IsRemote()}
}

// beganElsewhere reports whether the trace of the active span began in another process, as far as
// is known: a span of another provider does not tell.
func beganElsewhere(active trace.Span) bool {
	switch s := active.(type) {
	case *recordedSpan:
		return s.parent.elsewhere
	case *droppedSpan:
		return s.elsewhere
	default:
		return active.SpanContext().IsValid()
	}
}

// isLocal reports whether the parent is a span of this process.
func (p *parentContext) isLocal() bool { return p.same && p.id.IsValid() && !p.remote }

// setParent notes the context of the parent, and where the trace began. The span has its own
// context. Only this goroutine has the span.
func (s *recordedSpan) setParent(sc *trace.SpanContext, elsewhere bool) {
	s.parent = parentOf(sc)
	s.parent.elsewhere = elsewhere
	its, own := sc.TraceState(), s.spanContext.TraceState()
	if its.Len()+own.Len() > 0 && its.String() != own.String() {
		s.parent.state, s.withDetails().parentState = true, its
	}
}

// Parent returns the context of the parent.
func (s *recordedSpan) Parent() trace.SpanContext {
	p := &s.parent
	c := trace.SpanContextConfig{SpanID: p.id, TraceFlags: p.flags,
		TraceState: s.spanContext.TraceState(), Remote: p.remote}
	if p.same {
		c.TraceID = s.spanContext.TraceID()
	}
	if p.state {
		c.TraceState = read(s, func() trace.TraceState { return s.details.parentState })
	}
	return trace.NewSpanContext(c)
}
