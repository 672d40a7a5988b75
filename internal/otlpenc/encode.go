package otlpenc

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
)

// Encode encodes one span, and calls the function use with the result. s must be an ended span. The
// result is valid until use returns. If s is a local root, the result contains the [Spans.Root].
// Encode allocates nothing, except for lists, maps, invalid UTF-8, and spans of more than 1 KiB.
func (t *Groups) Encode(s sdktrace.ReadOnlySpan, use func(Spans)) {
	var room Snapshot
	span := snapshotOf(s, &room)
	w, ok := t.scratch.Get().(*scratch)
	if !ok {
		w = new(scratch)
	}
	encoded := w.Spans(Spans{
		group:   t.Group(span.Resource, span.InstrumentationScope),
		TraceID: span.SpanContext.TraceID(),
		Bytes:   span.Append(w.Next(), Extra{}), Count: 1,
	})
	if span.root(&w.root) {
		encoded.root = &w.root
	}
	use(encoded)
	encoded.Release()
	t.scratch.Put(w)
}

// A scratch is the memory of Encode.
type scratch struct {
	Writer
	root local.Root
}

// root sets r to the end of a span. root returns false unless the span is a local root.
func (s *Snapshot) root(r *local.Root) bool {
	if s.Parent.IsValid() && !s.Parent.IsRemote() {
		return false
	}
	*r = local.Root{
		TraceID: s.SpanContext.TraceID(), SpanID: s.SpanContext.SpanID(), Name: s.Name,
		Class: local.ClassOf(s.SpanKind, s.Name, HasTrue(s.Attributes, record.JobKey),
			HasTrue(s.Attributes, record.StreamKey)),
		Message: s.SpanKind != trace.SpanKindServer,
		Start:   s.StartTime, End: s.EndTime, Failed: s.Status.Code == codes.Error,
	}
	return true
}

// HasTrue reports whether attrs contains key with the value true.
func HasTrue(attrs []attribute.KeyValue, key attribute.Key) bool {
	for i := range attrs {
		if attrs[i].Key == key {
			return attrs[i].Value.AsBool()
		}
	}
	return false
}
