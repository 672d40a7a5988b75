package trace

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	. "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	_ "github.com/perfline/perfline/conformance"
)

// A snapshot has a span's data in the fields that the tests read.
type snapshot struct {
	ReadOnlySpan

	name                  string
	spanContext           trace.SpanContext
	parent                trace.SpanContext
	spanKind              trace.SpanKind
	startTime             time.Time
	endTime               time.Time
	attributes            []attribute.KeyValue
	events                []Event
	links                 []Link
	status                Status
	childSpanCount        int
	droppedAttributeCount int
	droppedEventCount     int
	droppedLinkCount      int
	resource              *resource.Resource
	instrumentationScope  instrumentation.Scope
}

func snapshotOf(s ReadOnlySpan) *snapshot {
	return &snapshot{
		name: s.Name(), spanContext: s.SpanContext(), parent: s.Parent(), spanKind: s.SpanKind(), startTime: s.StartTime(), endTime: s.EndTime(),
		attributes: s.Attributes(), events: s.Events(), links: s.Links(), status: s.Status(), childSpanCount: s.ChildSpanCount(),
		droppedAttributeCount: s.DroppedAttributes(), droppedEventCount: s.DroppedEvents(), droppedLinkCount: s.DroppedLinks(),
		resource: s.Resource(), instrumentationScope: s.InstrumentationScope(),
	}
}

func (s *snapshot) Name() string                                { return s.name }
func (s *snapshot) SpanContext() trace.SpanContext              { return s.spanContext }
func (s *snapshot) Parent() trace.SpanContext                   { return s.parent }
func (s *snapshot) SpanKind() trace.SpanKind                    { return s.spanKind }
func (s *snapshot) StartTime() time.Time                        { return s.startTime }
func (s *snapshot) EndTime() time.Time                          { return s.endTime }
func (s *snapshot) Attributes() []attribute.KeyValue            { return s.attributes }
func (s *snapshot) Events() []Event                             { return s.events }
func (s *snapshot) Links() []Link                               { return s.links }
func (s *snapshot) Status() Status                              { return s.status }
func (s *snapshot) ChildSpanCount() int                         { return s.childSpanCount }
func (s *snapshot) DroppedAttributes() int                      { return s.droppedAttributeCount }
func (s *snapshot) DroppedEvents() int                          { return s.droppedEventCount }
func (s *snapshot) DroppedLinks() int                           { return s.droppedLinkCount }
func (s *snapshot) Resource() *resource.Resource                { return s.resource }
func (s *snapshot) InstrumentationScope() instrumentation.Scope { return s.instrumentationScope }

func defaultIDGenerator() IDGenerator { return DefaultIDs() }
