package otlpenc

import sdktrace "go.opentelemetry.io/otel/sdk/trace"

// maxScratch is the largest capacity of a buffer that [Groups.Encode] uses again.
const maxScratch = 128 << 10

// Encode returns s encoded, with its group. It makes one allocation, of the encoded span's length: a span that
// waits takes no more memory than its bytes. Lists, maps and text that is not UTF-8 need further allocations, and spans of
// more than 64 KiB need larger buffers on the way. s must have ended.
func (t *Groups) Encode(s sdktrace.ReadOnlySpan) Spans {
	var room Snapshot
	span := snapshotOf(s, &room)
	scratch, ok := t.scratch.Get().(*[]byte)
	if !ok {
		scratch = new([]byte)
	}
	b := span.Append((*scratch)[:0])
	encoded := make([]byte, len(b))
	copy(encoded, b)
	if cap(b) <= maxScratch {
		*scratch = b
		t.scratch.Put(scratch)
	}
	return Spans{Group: t.of(span), Bytes: encoded, Count: 1}
}
