package bridge

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/exporter/routes"
	"github.com/perfline/perfline/observer/record"
)

// adderOf returns the table's Add, or nil without a table. A table as a field of a provider, which is in interfaces, would make the linker
// keep all its exported methods.
func adderOf(table *routes.Table) func(routes.Ended) {
	if table == nil {
		return nil
	}
	return table.Add
}

// countRoute counts a local root that has ended.
func (s *recordedSpan) countRoute() {
	count := s.tracer.provider.count
	if count == nil {
		return
	}
	e := routes.Ended{Route: s.name, End: s.endTime, Took: s.endTime.Sub(s.startTime), Failed: s.failed()}
	switch {
	case !s.isRequest():
		e.Kind = routes.Background
	case s.isStream():
		e.Kind = routes.Stream
	}
	count(e)
}

// isRequest reports whether a local root stands for a request. The span has ended.
func (s *recordedSpan) isRequest() bool {
	return serves(trace.SpanKind(s.kind)) || hasTrue(s.attributes, record.JobKey) || s.readDetails().job
}

// isStream reports whether a request lasts as long as its client stays. The span has ended.
func (s *recordedSpan) isStream() bool {
	return hasTrue(s.attributes, record.StreamKey) || s.readDetails().stream
}

// countRoute counts a span of a provider that is not perfline's, if it is a local root.
func countRoute(count func(routes.Ended), s sdktrace.ReadOnlySpan) {
	if parent := s.Parent(); count == nil || parent.IsValid() && !parent.IsRemote() {
		return
	}
	attrs := s.Attributes()
	e := routes.Ended{Route: s.Name(), End: s.EndTime(), Took: s.EndTime().Sub(s.StartTime()), Failed: s.Status().Code == codes.Error}
	switch {
	case !serves(s.SpanKind()) && !hasTrue(attrs, record.JobKey):
		e.Kind = routes.Background
	case hasTrue(attrs, record.StreamKey):
		e.Kind = routes.Stream
	}
	count(e)
}

// serves reports whether a local root of a kind stands for a request whatever its attributes are.
func serves(kind trace.SpanKind) bool {
	return kind == trace.SpanKindServer || kind == trace.SpanKindConsumer
}

// hasTrue reports whether attributes have a key whose value is true.
func hasTrue(attrs []attribute.KeyValue, key attribute.Key) bool {
	for i := range attrs {
		if attrs[i].Key == key {
			return attrs[i].Value.AsBool()
		}
	}
	return false
}
