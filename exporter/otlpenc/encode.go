package otlpenc

import sdktrace "go.opentelemetry.io/otel/sdk/trace"

// Spans are encoded one after another into rooms of roomSize bytes, which are allocated together. A span begins
// in a room with at least usualSize bytes left; one that does not fit has an allocation of its own.
const (
	roomSize  = 8 << 10
	usualSize = 512
)

// Encode returns s encoded, with its group. The bytes of some twenty spans share an allocation, which is garbage when
// none of them is in use. A span that is larger than most has its own, of its length. Lists, maps and text that
// is not UTF-8 need further ones. s must have ended.
func (t *Groups) Encode(s sdktrace.ReadOnlySpan) Spans {
	var other snapshot
	span := snapshotOf(s, &other)
	room, ok := t.rooms.Get().(*[]byte)
	if !ok {
		room = new([]byte)
	}
	if cap(*room) < usualSize {
		*room = make([]byte, 0, roomSize)
	}
	b := appendSpan(*room, span)
	if n := len(b); n <= cap(*room) {
		*room = b[n:n:cap(b)]
	} else {
		b = append(make([]byte, 0, n), b...) // not the room that append left
	}
	t.rooms.Put(room)
	return Spans{Group: t.of(span), Bytes: b[:len(b):len(b)], Count: 1}
}
