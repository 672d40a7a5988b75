package otlpwire

import (
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Types of fields, which are the low bits of a tag.
const (
	Varint   = uint64(protowire.VarintType)
	Fixed64  = uint64(protowire.Fixed64Type)
	Prefixed = uint64(protowire.BytesType)
	Fixed32  = uint64(protowire.Fixed32Type)
)

// ValidText returns s with U+FFFD in place of each run of bytes that is not UTF-8. A receiver
// refuses a whole request for one such byte.
func ValidText(s string) string {
	if isASCII(s) || utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}

// isASCII reads eight bytes at once, the last ones twice. It takes half of the time of
// [utf8.ValidString] for the short texts that spans have.
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

// Nanos returns t as the SDK's exporter sends it.
func Nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// AppendText appends a field of text, unless s is empty.
func AppendText(b []byte, tag uint64, s string) []byte {
	if s == "" {
		return b
	}
	return AppendString(b, tag, ValidText(s))
}

// AppendString appends a field of valid text or of bytes, also if s is empty.
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

// AppendCount appends a field of 32 bits, unless n is 0. It limits n to the range of the field.
func AppendCount(b []byte, tag uint64, n int) []byte {
	if n <= 0 {
		return b
	}
	return protowire.AppendVarint(append(b, byte(tag)), min(uint64(n), 1<<32-1))
}

// BeginMessage begins a message of unknown length, for which it leaves one byte; at is where the
// body begins.
func BeginMessage(b []byte, tag uint64) (_ []byte, at int) {
	b = append(b, byte(tag), 0)
	return b, len(b)
}

// EndMessage ends the message whose body begins at at. A body of 128 bytes and more moves to make
// room for its length, which always has the fewest bytes. To leave two bytes for a span made no
// difference that could be measured.
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

// FieldSize returns the size of a text or a message of n bytes with its tag and its length.
func FieldSize(n int) int { return 1 + protowire.SizeBytes(n) }
