package otlpenc

import (
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Tags of OTLP: a field's number and the type of its value. All but one have a single byte.
const (
	varint   = uint64(protowire.VarintType)
	fixed64  = uint64(protowire.Fixed64Type)
	prefixed = uint64(protowire.BytesType)
	fixed32  = uint64(protowire.Fixed32Type)

	requestResourceSpans = 1<<3 | prefixed

	resourceSpansResource   = 1<<3 | prefixed
	resourceSpansScopeSpans = 2<<3 | prefixed
	resourceSpansSchemaURL  = 3<<3 | prefixed

	resourceAttributes = 1<<3 | prefixed

	scopeSpansScope     = 1<<3 | prefixed
	scopeSpansSpans     = 2<<3 | prefixed
	scopeSpansSchemaURL = 3<<3 | prefixed

	scopeName       = 1<<3 | prefixed
	scopeVersion    = 2<<3 | prefixed
	scopeAttributes = 3<<3 | prefixed

	spanTraceID           = 1<<3 | prefixed
	spanSpanID            = 2<<3 | prefixed
	spanTraceState        = 3<<3 | prefixed
	spanParentSpanID      = 4<<3 | prefixed
	spanName              = 5<<3 | prefixed
	spanKind              = 6<<3 | varint
	spanStart             = 7<<3 | fixed64
	spanEnd               = 8<<3 | fixed64
	spanAttributes        = 9<<3 | prefixed
	spanDroppedAttributes = 10<<3 | varint
	spanEvents            = 11<<3 | prefixed
	spanDroppedEvents     = 12<<3 | varint
	spanLinks             = 13<<3 | prefixed
	spanDroppedLinks      = 14<<3 | varint
	spanStatus            = 15<<3 | prefixed
	spanFlags             = 16<<3 | fixed32 // two bytes

	eventTime              = 1<<3 | fixed64
	eventName              = 2<<3 | prefixed
	eventAttributes        = 3<<3 | prefixed
	eventDroppedAttributes = 4<<3 | varint

	linkTraceID           = 1<<3 | prefixed
	linkSpanID            = 2<<3 | prefixed
	linkAttributes        = 4<<3 | prefixed
	linkDroppedAttributes = 5<<3 | varint
	linkFlags             = 6<<3 | fixed32

	statusMessage = 2<<3 | prefixed
	statusCode    = 3<<3 | varint

	keyValueKey   = 1<<3 | prefixed
	keyValueValue = 2<<3 | prefixed

	valueString = 1<<3 | prefixed
	valueBool   = 2<<3 | varint
	valueInt    = 3<<3 | varint
	valueDouble = 4<<3 | fixed64
	valueArray  = 5<<3 | prefixed
	valueMap    = 6<<3 | prefixed
	valueBytes  = 7<<3 | prefixed

	listValues = 1<<3 | prefixed // of an array and of a map
)

// Bits of the flags of spans and links above the W3C's.
const (
	knowsRemote = 0x100 // whether the parent is remote is known
	isRemote    = 0x200
)

// Codes of a status.
const (
	statusOk    = 1
	statusError = 2
)

// validText returns s with U+FFFD in place of each run of bytes that is not UTF-8. A receiver
// refuses a whole request for one such byte.
func validText(s string) string {
	if isASCII(s) || utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}

// isASCII reads eight bytes at once, the last ones twice. It takes half of the time of [utf8.ValidString] for the
// short texts that spans have.
func isASCII(s string) bool {
	const high = 0x8080808080808080
	n := len(s)
	if n < 8 {
		var all byte
		for i := range n {
			all |= s[i]
		}
		return all < utf8.RuneSelf
	}
	for i := 0; i < n-8; i += 8 {
		if eight(s[i:])&high != 0 {
			return false
		}
	}
	return eight(s[n-8:])&high == 0
}

// eight returns the first eight bytes of s.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// nanos returns t as the SDK's exporter sends it.
func nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// appendText appends a field of text, unless s is empty.
func appendText(b []byte, tag uint64, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(b, tag, validText(s))
}

// appendString appends a field of valid text or of bytes, also if s is empty.
func appendString(b []byte, tag uint64, s string) []byte {
	return append(appendLength(b, tag, len(s)), s...)
}

func appendLength(b []byte, tag uint64, n int) []byte {
	if n < 1<<7 {
		return append(b, byte(tag), byte(n))
	}
	return protowire.AppendVarint(append(b, byte(tag)), uint64(n))
}

func appendFixed64(b []byte, tag, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendFixed64(append(b, byte(tag)), v)
}

// appendCount appends a field of 32 bits, unless n is 0. It limits n to the range of the field.
func appendCount(b []byte, tag uint64, n int) []byte {
	if n <= 0 {
		return b
	}
	return protowire.AppendVarint(append(b, byte(tag)), min(uint64(n), 1<<32-1))
}

// beginMessage begins a message of unknown length, for which it leaves one byte; at is where the body begins.
func beginMessage(b []byte, tag uint64) (_ []byte, at int) {
	b = append(b, byte(tag), 0)
	return b, len(b)
}

// endMessage ends the message whose body begins at at. A body of 128 bytes and more moves to make
// room for its length, which always has the fewest bytes. To leave two bytes for a span made no
// difference that could be measured.
func endMessage(b []byte, at int) []byte {
	n := len(b) - at
	if n < 1<<7 {
		b[at-1] = byte(n)
		return b
	}
	var zeros [9]byte
	size := protowire.SizeVarint(uint64(n))
	b = append(b, zeros[:size-1]...)
	copy(b[at+size-1:], b[at:at+n])
	protowire.AppendVarint(b[:at-1], uint64(n))
	return b
}

// fieldSize returns the size of a text or a message of n bytes with its tag and its length.
func fieldSize(n int) int { return 1 + protowire.SizeBytes(n) }
