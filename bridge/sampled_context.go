package bridge

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// sampledContext returns a context with the span that an exemplar of a measure leads to. span is what a [record.Meter] gets.
// The context has no span if that is not sampled, so that no exemplar leads to a trace that is not exported.
func sampledContext(span any) context.Context {
	switch s := span.(type) {
	case *recordedSpan:
		if s.sampled {
			return (*openedMeasure)(s)
		}
	case *openedMeasure:
		if s.sampled {
			return s
		}
	case *openedSpan:
		return sampledContext(s.span)
	case *droppedSpan:
	case trace.Span: // of another provider, whose spans cost more than their context
		if s.SpanContext().IsSampled() {
			return trace.ContextWithSpan(context.Background(), s)
		}
	}
	return context.Background()
}

// An openedMeasure is also a context that has only its span, of a measure or not: one more type of spans would add 20 kB to each program.
// The context is the span itself because a meter provider may keep it. One from a pool would lead to another trace then.
var _ context.Context = (*openedMeasure)(nil)

// Deadline implements [context.Context].
func (*openedMeasure) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements [context.Context].
func (*openedMeasure) Done() <-chan struct{} { return nil }

// Err implements [context.Context].
func (*openedMeasure) Err() error { return nil }

// Value implements [context.Context].
func (o *openedMeasure) Value(key any) any {
	if key == spanKey {
		return (*recordedSpan)(o)
	}
	return nil
}
