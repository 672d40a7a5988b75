package live

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Characters of text from outside that are shown.
const (
	maxName  = 200
	maxValue = 1000
)

// shown is the beginning of s with what cannot be seen as codes: control characters, invalid
// UTF-8, marks that change the direction of writing.
func shown(s string) string { return visible(s, maxName, "") }

// block is shown for a longer text, of several lines.
func block(s string) string { return visible(s, maxValue, "\n\t") }

func visible(s string, n int, keep string) string {
	var b strings.Builder
	for i, r := range s {
		if n == 0 {
			fmt.Fprintf(&b, "… (%d bytes more)", len(s)-i)
			break
		}
		n--
		if unicode.IsPrint(r) && r != utf8.RuneError || strings.ContainsRune(keep, r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
