package bridge

import "go.opentelemetry.io/otel/trace"

// A parentContext is the context of a span's parent. The trace is the span's own, and so it needs no second id.
type parentContext struct {
	state  trace.TraceState
	id     trace.SpanID
	flags  trace.TraceFlags
	same   bool // the parent has a trace id
	remote bool
}

func parentOf(sc trace.SpanContext) parentContext {
	return parentContext{state: sc.TraceState(), id: sc.SpanID(), flags: sc.TraceFlags(), same: sc.TraceID().IsValid(), remote: sc.IsRemote()}
}

// isLocal reports whether the parent is a span of this process.
func (p *parentContext) isLocal() bool { return p.same && p.id.IsValid() && !p.remote }

// in returns the context of the parent, in the trace of its child.
func (p *parentContext) in(t trace.TraceID) trace.SpanContext {
	if !p.same {
		t = trace.TraceID{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: t, SpanID: p.id, TraceFlags: p.flags, TraceState: p.state, Remote: p.remote})
}
