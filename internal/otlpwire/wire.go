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

// Nanos returns t in nanoseconds since 1970, like the SDK's exporter. Nanos returns 0 for earlier
// times.
func Nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// AppendText appends a text field, and replaces invalid UTF-8. AppendText appends nothing if s is
// empty.
func AppendText(b []byte, tag uint64, s string) []byte {
	if s == "" {
		return b
	}
	return AppendString(b, tag, text.Valid(s))
}

// AppendString appends a field with text or bytes, even if s is empty. Text must be valid UTF-8.
func AppendString(b []byte, tag uint64, s string) []byte {
	return append(AppendLength(b, tag, len(s)), s...)
}

// AppendLength appends the tag and the length n of a field. The caller must then append n bytes of
// content.
func AppendLength(b []byte, tag uint64, n int) []byte {
	if n < 1<<7 {
		return append(b, byte(tag), byte(n))
	}
	return protowire.AppendVarint(append(b, byte(tag)), uint64(n))
}

// AppendFixed64 appends a field of eight bytes. AppendFixed64 appends nothing if v is 0.
func AppendFixed64(b []byte, tag, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendFixed64(append(b, byte(tag)), v)
}

// AppendCount appends n as a field of 32 bits. AppendCount appends nothing if n is 0 or negative.
// If n exceeds 32 bits, AppendCount appends the largest 32-bit number.
func AppendCount(b []byte, tag uint64, n int) []byte {
	if n <= 0 {
		return b
	}
	return protowire.AppendVarint(append(b, byte(tag)), min(uint64(n), 1<<32-1))
}

// BeginMessage appends the tag of a message, and reserves one byte for the length. The result at is
// the offset of the body. The caller appends the body, and then passes the offset to [EndMessage].
func BeginMessage(b []byte, tag uint64) (_ []byte, at int) {
	b = append(b, byte(tag), 0)
	return b, len(b)
}

// EndMessage writes the length of a message. The parameter at is the offset of the body. EndMessage
// moves a body of 128 bytes or more, because the length then occupies several bytes. A second
// reserved byte for spans was not measurably faster.
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

// FieldSize returns the size of a field with n bytes of content. The size includes the tag and the
// length.
func FieldSize(n int) int { return 1 + protowire.SizeBytes(n) }
