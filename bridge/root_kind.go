package bridge

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/local"
	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/observer/record"
)

// classify notes what a local root stands for. It has ended.
func (s *recordedSpan) classify() {
	d := s.readDetails()
	job, stream := d.job || otlpenc.HasTrue(s.attributes, record.JobKey), d.stream || otlpenc.HasTrue(s.attributes, record.StreamKey)
	s.class = local.ClassOf(trace.SpanKind(s.kind), s.name, job, stream)
}

// asRoot returns the end of a local root that is classified.
func (s *recordedSpan) asRoot() local.Root {
	return local.Root{
		TraceID: s.spanContext.TraceID(), SpanID: s.spanContext.SpanID(), Name: s.name, Class: s.class,
		Start: s.startTime, End: s.endTime, Failed: s.failed(), Keep: s.keep,
	}
}

// isRequest reports whether a local root stands for a unit of work.
func (s *recordedSpan) isRequest() bool { return s.class <= local.Stream }
