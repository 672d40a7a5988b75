package bridge

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/internal/record"
)

// A droppedSpan is a span that the sampler dropped. Children inherit its span context.
type droppedSpan struct {
	noop.Span

	tracer       *tracer
	spanContext  trace.SpanContext
	kind         trace.SpanKind
	ended        atomic.Bool
	foreignTrace bool         // see parentContext
	root         *droppedSpan // the local root, perhaps s itself; nil if the local root is recorded

	// above is the recorded span of the provider that contains s, if the sampler dropped s because
	// of a span of another provider between s and above. Entries under s are entries under above.
	above *recordedSpan

	// The unit of the recorded span above. A dropped local root makes a unit on the first use.
	unit atomic.Pointer[record.Unit]
}

func (s *droppedSpan) SpanContext() trace.SpanContext { return s.spanContext }
func (s *droppedSpan) SpanKind() trace.SpanKind       { return s.kind }

func (s *droppedSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }

// SetName finds the route of the request that contains a server span: see [record.Unit.FoundRoute].
func (s *droppedSpan) SetName(name string) {
	if u := s.unitOwner().unit.Load(); u != nil && s.root != s && s.kind == trace.SpanKindServer {
		u.FoundRoute(routeOf(name, nil))
	}
}

// Ended reports whether the span has ended.
func (s *droppedSpan) Ended() bool { return s.ended.Load() }

// End marks the span as ended. If the span is a local root, End closes the root's unit.
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

// A droppedRequest is the dropped local root of a served request and its unit, in one allocation.
type droppedRequest struct {
	droppedContext
	unit record.Unit
}

func (c *droppedContext) Value(key any) any {
	if key == spanKey {
		return &c.span
	}
	switch key.(type) {
	case record.ContextKey:
		return &c.span.Unit().Timeline
	case record.ActiveKey:
		return &c.span
	}
	return c.Context.Value(key)
}

// SetStatus records an error inside the request if the status is an error.
func (s *droppedSpan) SetStatus(code codes.Code, _ string) {
	if s.above != nil && code == codes.Error && !s.Ended() {
		s.above.Unit().ErrorInside.Store(true)
	}
}

// Place implements [record.Active]. Only observers receive the entries of a dropped span, unless s
// is below a recorded span of the request.
func (s *droppedSpan) Place() (*record.Timeline, record.Span, record.Destination, record.Tracer) {
	if s.above != nil {
		return s.above.Place()
	}
	timeline := s.tracer.provider.timeline
	if timeline.Watched() || s.unitOwner().unit.Load() != nil {
		timeline = &s.Unit().Timeline
	}
	return timeline, nil, record.ToObservers, nil
}

func (s *droppedSpan) Unit() *record.Unit {
	h, p := s.unitOwner(), s.tracer.provider
	if h.unit.Load() == nil {
		h.unit.CompareAndSwap(nil, p.timeline.NewUnit(time.Now(), receiver{p}))
	}
	return h.unit.Load()
}

// unitOwner returns the span that stores the unit.
func (s *droppedSpan) unitOwner() *droppedSpan {
	if s.root != nil {
		return s.root
	}
	return s
}
