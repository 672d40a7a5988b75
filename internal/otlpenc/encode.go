package otlpenc

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/local"
)

// Encode encodes s and calls use with this one span, and with its end if the span is a local root. Encode allocates nothing, except for lists, maps,
// text that is not UTF-8, and spans of more than 1 KiB. s must have ended.
func (t *Groups) Encode(s sdktrace.ReadOnlySpan, use func([]Spans)) {
	var room Snapshot
	span := snapshotOf(s, &room)
	w, ok := t.scratch.Get().(*scratch)
	if !ok {
		w = new(scratch)
	}
	w.one = append(w.one[:0], Spans{Group: t.Group(span.Resource, span.InstrumentationScope), TraceID: span.SpanContext.TraceID(), Count: 1})
	encoded := &w.one[0]
	encoded.Bytes = span.Append(w.Next(), Extra{})
	*encoded = w.Spans(*encoded)
	if span.root(&w.root) {
		encoded.Root = &w.root
	}
	use(w.one)
	encoded.Release()
	clear(w.one)
	t.scratch.Put(w)
}

// A scratch is the memory of Encode.
type scratch struct {
	Writer
	one  []Spans
	root local.Root
}
