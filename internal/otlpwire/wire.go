package otlpwire

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/text"
)

// Types of fields: the low bits of a tag.
const (
	Varint   = uint64(protowire.VarintType)
	Fixed64  = uint64(protowire.Fixed64Type)
	Prefixed = uint64(protowire.BytesType)
	Fixed32  = uint64(protowire.Fixed32Type)
)

// Nanos returns t in nanoseconds since 1970, as the SDK's exporter does. Earlier times are 0.
func Nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// AppendText appends a text field, unless s is empty.
func AppendText(b []byte, tag uint64, s string) []byte {
	if s == "" {
		return b
	}
	return AppendString(b, tag, text.Valid(s))
}

// AppendString appends a field with valid text or with bytes, even if s is empty.
func AppendString(b []byte, tag uint64, s string) []byte {
	return append(AppendLength(b, tag, len(s)), s...)
}

// AppendLength appends the tag and the length of a field.
func AppendLength(b []byte, tag uint64, n int) []byte {
	if n < 1<<7 {
		return append(b, byte(tag), byte(n))
	}
	return protowire.AppendVarint(append(b, byte(tag)), uint64(n))
}

// AppendFixed64 appends a field of eight bytes, unless v is 0.
func AppendFixed64(b []byte, tag, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendFixed64(append(b, byte(tag)), v)
}

// AppendCount appends a field of 32 bits, unless n is 0. AppendCount limits n to the range of the
// field.
func AppendCount(b []byte, tag uint64, n int) []byte {
	if n <= 0 {
		return b
	}
	return protowire.AppendVarint(append(b, byte(tag)), min(uint64(n), 1<<32-1))
}

// BeginMessage begins a message of unknown length, and reserves one byte for the length. The body
// begins at at.
func BeginMessage(b []byte, tag uint64) (_ []byte, at int) {
	b = append(b, byte(tag), 0)
	return b, len(b)
}

// EndMessage ends the message with a body that begins at at. EndMessage moves a body of 128 bytes
// and more, because the length needs more bytes. Two reserved bytes for a span were not measurably
// faster.
func EndMessage(b []byte, at int) []byte {
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

// FieldSize returns the size of a field with n bytes of text or message, a tag and a length.
func FieldSize(n int) int { return 1 + protowire.SizeBytes(n) }
