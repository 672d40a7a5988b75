package text

import (
	"strings"
	"unicode/utf8"
)

// Valid returns s with U+FFFD in place of each run of invalid UTF-8. An OTLP receiver refuses a
// whole request if one byte is invalid.
func Valid(s string) string {
	if isASCII(s) || utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}

// isASCII reads eight bytes at once, and may read the last bytes twice. For the short texts of
// spans, it takes half of the time of [utf8.ValidString].
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

func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
