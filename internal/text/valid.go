package text

import (
	"strings"
	"unicode/utf8"
)

// Valid returns s with U+FFFD for all that is not UTF-8. OTLP cannot carry other text: one such
// string would lose the whole batch of spans that it is in.
func Valid(s string) string {
	if utf8.ValidString(s) { // eight bytes at a time
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
