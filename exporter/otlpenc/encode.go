package otlpenc

import sdktrace "go.opentelemetry.io/otel/sdk/trace"

// maxScratch is the largest capacity of a buffer that [Groups.Encode] uses again.
const maxScratch = 64 << 10

// Encode returns s encoded, with its group. It makes one allocation, of the encoded span's length, unless
// s has lists, maps or text that is not UTF-8. s must have ended.
func (t *Groups) Encode(s sdktrace.ReadOnlySpan) Spans {
	buffer, ok := t.scratch.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	b := AppendSpan((*buffer)[:0], s)
	spans := Spans{Group: t.Of(s), Bytes: make([]byte, len(b)), Count: 1}
	copy(spans.Bytes, b)
	if cap(b) <= maxScratch {
		*buffer = b
		t.scratch.Put(buffer)
	}
	return spans
}
