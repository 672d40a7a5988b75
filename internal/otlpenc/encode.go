package otlpenc

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/local"
)

// Encode encodes s, which must have ended, and calls use with this one span. A local root carries
// its end. Encode allocates nothing, except for lists, maps, invalid UTF-8, and spans of more than
// 1 KiB.
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
