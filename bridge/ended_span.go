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

// The methods of [sdktrace.ReadOnlySpan] return copies, because the encoder may read the originals
// at the same time.

func (s *recordedSpan) SpanContext() trace.SpanContext { return s.spanContext }
func (s *recordedSpan) SpanKind() trace.SpanKind       { return trace.SpanKind(s.kind) }
func (s *recordedSpan) StartTime() time.Time           { return s.startTime }
func (s *recordedSpan) Resource() *resource.Resource   { return s.tracer.provider.resource }

func (s *recordedSpan) InstrumentationScope() instrumentation.Scope { return s.tracer.scope }

func (s *recordedSpan) InstrumentationLibrary() instrumentation.Library { //nolint:staticcheck // the interface has it
	return s.tracer.scope
}

func (s *recordedSpan) Name() string       { return read(s, func() string { return s.name }) }
func (s *recordedSpan) EndTime() time.Time { return read(s, func() time.Time { return s.endTime }) }
func (s *recordedSpan) Status() sdktrace.Status {
	return read(s, func() sdktrace.Status { return s.status })
}
func (s *recordedSpan) ChildSpanCount() int { return int(s.state.Load() &^ hasEnded) }
func (s *recordedSpan) DroppedAttributes() int {
	return read(s, func() int { return int(s.droppedAttributes) })
}
func (s *recordedSpan) DroppedEvents() int {
	return read(s, func() int { return s.readDetails().events.dropped })
}
func (s *recordedSpan) DroppedLinks() int {
	return read(s, func() int { return s.readDetails().links.dropped })
}

func read[T any](s *recordedSpan, field func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return field()
}

func (s *recordedSpan) Attributes() []attribute.KeyValue {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeDuplicates()
	return s.appendAttributes(nil)
}

func (s *recordedSpan) Events() []sdktrace.Event {
	events := read(s, func() []sdktrace.Event { return s.readDetails().events.snapshot() })
	for i := range events {
		events[i].Attributes = slices.Clone(events[i].Attributes)
	}
	return events
}

func (s *recordedSpan) Links() []sdktrace.Link {
	links := read(s, func() []sdktrace.Link { return s.readDetails().links.snapshot() })
	for i := range links {
		links[i].Attributes = slices.Clone(links[i].Attributes)
	}
	return links
}

// An endedSpan is the span that processors receive at the end, without the methods that change a
// span.
type endedSpan struct{ sdktrace.ReadOnlySpan }
