package bridge

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/internal/record"
)

// A droppedSpan is a span that the sampler dropped. It has a context of its own, which its children
// inherit.
type droppedSpan struct {
	noop.Span // does nothing

	tracer      *tracer
	spanContext trace.SpanContext
	kind        trace.SpanKind
	ended       atomic.Bool
	elsewhere   bool         // as of a parentContext
	root        *droppedSpan // the local root; itself if it is one, and nil if that is recorded

	// The unit of the recorded span above it, or its own for a local root, which makes it on the
	// first use.
	unit atomic.Pointer[record.Unit]
}

var _ trace.Span = (*droppedSpan)(nil)

func (s *droppedSpan) SpanContext() trace.SpanContext { return s.spanContext }
func (s *droppedSpan) SpanKind() trace.SpanKind       { return s.kind }

func (s *droppedSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }

// Ended reports whether the span has ended.
func (s *droppedSpan) Ended() bool { return s.ended.Load() }

// End closes the unit of a local root.
func (s *droppedSpan) End(...trace.SpanEndOption) {
	s.ended.Store(true)
	if s.root == s {
		if u := s.unit.Load(); u != nil {
			u.Close()
		}
	}
}

// A droppedContext is a droppedSpan and its context.
type droppedContext struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	span            droppedSpan
}

// A droppedRequest is the dropped local root of a request, with the unit that the request is served
// under.
type droppedRequest struct {
	droppedContext
	unit record.Unit
}

func (c *droppedContext) Value(key any) any {
	if key == spanKey {
		return &c.span
	}
	return c.Context.Value(key)
}

// Place implements [record.Active]: nothing is recorded, except for observers and for who asked the
// unit to keep it.
func (s *droppedSpan) Place() (*record.Timeline, record.Span, record.Destination, record.Tracer) {
	timeline := s.tracer.provider.timeline
	if timeline.Watched() || s.holder().unit.Load() != nil {
		timeline = &s.Unit().Timeline
	}
	return timeline, nil, record.ToObservers, nil
}

func (s *droppedSpan) Unit() *record.Unit {
	h := s.holder()
	if u := h.unit.Load(); u != nil {
		return u
	}
	h.unit.CompareAndSwap(nil,
		s.tracer.provider.timeline.NewUnit(time.Now(), receiver{s.tracer.provider}))
	return h.unit.Load()
}

// holder returns the span that has the unit.
func (s *droppedSpan) holder() *droppedSpan {
	if s.root != nil {
		return s.root
	}
	return s
}
