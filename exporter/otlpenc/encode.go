package otlpenc

import sdktrace "go.opentelemetry.io/otel/sdk/trace"

// maxScratch is the largest capacity of a buffer that [Groups.Encode] uses again.
const maxScratch = 128 << 10

// Encode encodes s and calls use with the bytes and the group. The bytes are valid until use returns: later calls of Encode
// use the same buffer. Encode allocates nothing, except for lists, maps, text that is not UTF-8, and spans of more than 64 KiB.
// s must have ended.
func (t *Groups) Encode(s sdktrace.ReadOnlySpan, use func(Spans)) {
	var room Snapshot
	span := snapshotOf(s, &room)
	scratch, ok := t.scratch.Get().(*[]byte)
	if !ok {
		scratch = new([]byte)
	}
	b := span.Append((*scratch)[:0], Extra{})
	use(Spans{Group: t.Group(span.Resource, span.InstrumentationScope), Bytes: b[:len(b):len(b)], Count: 1})
	if cap(b) <= maxScratch {
		*scratch = b
		t.scratch.Put(scratch)
	}
}
