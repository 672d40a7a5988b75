package bridge

import (
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/observer"
)

// A droppedSpan is a span that the sampler dropped. It has a context of its own, which its children inherit.
type droppedSpan struct {
	noop.Span // does nothing

	tracer      *tracer
	spanContext trace.SpanContext
	unit        *observer.Unit // of the recorded span above it; nil without one
}

var _ trace.Span = (*droppedSpan)(nil)

func (s *droppedSpan) SpanContext() trace.SpanContext { return s.spanContext }

func (s *droppedSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }
