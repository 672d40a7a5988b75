package bridge

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// These methods of [sdktrace.ReadOnlySpan] return copies: the encoder reads the originals, perhaps at the same time.

func (s *recordedSpan) SpanContext() trace.SpanContext { return s.spanContext }
func (s *recordedSpan) Parent() trace.SpanContext      { return s.parent.in(s.spanContext.TraceID()) }
func (s *recordedSpan) SpanKind() trace.SpanKind       { return trace.SpanKind(s.kind) }
func (s *recordedSpan) StartTime() time.Time           { return s.startTime }
func (s *recordedSpan) Resource() *resource.Resource   { return s.tracer.provider.resource }

func (s *recordedSpan) InstrumentationScope() instrumentation.Scope { return s.tracer.scope }

func (s *recordedSpan) InstrumentationLibrary() instrumentation.Library { //nolint:staticcheck // the interface has it
	return s.tracer.scope
}

func (s *recordedSpan) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

func (s *recordedSpan) EndTime() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endTime
}

func (s *recordedSpan) Status() sdktrace.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *recordedSpan) Attributes() []attribute.KeyValue {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.distinct()
	return s.appendAttributes(nil)
}

func (s *recordedSpan) Events() []sdktrace.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.readDetails().events.inOrder()
	for i := range events {
		events[i].Attributes = slices.Clone(events[i].Attributes)
	}
	return events
}

func (s *recordedSpan) Links() []sdktrace.Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	links := s.readDetails().links.inOrder()
	for i := range links {
		links[i].Attributes = slices.Clone(links[i].Attributes)
	}
	return links
}

func (s *recordedSpan) DroppedAttributes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.droppedAttributes)
}

func (s *recordedSpan) DroppedEvents() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readDetails().events.dropped
}

func (s *recordedSpan) DroppedLinks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readDetails().links.dropped
}

func (s *recordedSpan) ChildSpanCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.children)
}

// An endedSpan is what processors receive at the end: the span without the methods that change it.
type endedSpan recordedSpan

var _ sdktrace.ReadOnlySpan = (*endedSpan)(nil)

func (s *endedSpan) span() *recordedSpan { return (*recordedSpan)(s) }

func (s *endedSpan) Name() string                                { return s.span().Name() }
func (s *endedSpan) SpanContext() trace.SpanContext              { return s.spanContext }
func (s *endedSpan) Parent() trace.SpanContext                   { return s.span().Parent() }
func (s *endedSpan) SpanKind() trace.SpanKind                    { return trace.SpanKind(s.kind) }
func (s *endedSpan) StartTime() time.Time                        { return s.startTime }
func (s *endedSpan) EndTime() time.Time                          { return s.span().EndTime() }
func (s *endedSpan) Attributes() []attribute.KeyValue            { return s.span().Attributes() }
func (s *endedSpan) Links() []sdktrace.Link                      { return s.span().Links() }
func (s *endedSpan) Events() []sdktrace.Event                    { return s.span().Events() }
func (s *endedSpan) Status() sdktrace.Status                     { return s.span().Status() }
func (s *endedSpan) InstrumentationScope() instrumentation.Scope { return s.tracer.scope }
func (s *endedSpan) Resource() *resource.Resource                { return s.tracer.provider.resource }
func (s *endedSpan) DroppedAttributes() int                      { return s.span().DroppedAttributes() }
func (s *endedSpan) DroppedLinks() int                           { return s.span().DroppedLinks() }
func (s *endedSpan) DroppedEvents() int                          { return s.span().DroppedEvents() }
func (s *endedSpan) ChildSpanCount() int                         { return s.span().ChildSpanCount() }

func (s *endedSpan) InstrumentationLibrary() instrumentation.Library { //nolint:staticcheck // the interface has it
	return s.tracer.scope
}
