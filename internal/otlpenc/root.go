package otlpenc

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
)

// root sets r to the end of a span. It returns false unless the span is a local root.
func (s *Snapshot) root(r *local.Root) bool {
	if s.Parent.IsValid() && !s.Parent.IsRemote() {
		return false
	}
	*r = local.Root{
		TraceID: s.SpanContext.TraceID(), SpanID: s.SpanContext.SpanID(), Name: s.Name,
		Class: local.ClassOf(s.SpanKind, s.Name, HasTrue(s.Attributes, record.JobKey),
			HasTrue(s.Attributes, record.StreamKey)),
		Start: s.StartTime, End: s.EndTime, Failed: s.Status.Code == codes.Error,
	}
	return true
}

// HasTrue reports whether the attribute with this key is true.
func HasTrue(attrs []attribute.KeyValue, key attribute.Key) bool {
	for i := range attrs {
		if attrs[i].Key == key {
			return attrs[i].Value.AsBool()
		}
	}
	return false
}
