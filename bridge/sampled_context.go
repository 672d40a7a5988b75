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
			return (*spanOnly)(s)
		}
	case *openedMeasure:
		if s.sampled {
			return (*spanOnly)(s)
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

// A spanOnly is a span as a context that has nothing else. The span itself is one, because a meter provider may keep the context: a
// pooled one would lead to the wrong trace then.
type spanOnly recordedSpan

var _ context.Context = (*spanOnly)(nil)

func (*spanOnly) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (*spanOnly) Done() <-chan struct{}                   { return nil }
func (*spanOnly) Err() error                              { return nil }

// Value implements [context.Context].
func (s *spanOnly) Value(key any) any {
	if key == spanKey {
		return (*recordedSpan)(s)
	}
	return nil
}
