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

// shown is the beginning of s with what cannot be seen as codes: see invisible. The page's own
// shown, in format.js, does the same with what the service answers.
func shown(s string) string {
	text, rest := visible(s, maxName, "")
	if rest > 0 {
		text += "…" // of a name that the service has cut the number would be another
	}
	return text
}

// block is shown for a longer text, of several lines.
func block(s string) string {
	text, rest := visible(s, maxValue, "\n\t")
	if rest > 0 {
		text += fmt.Sprintf("… (%d bytes more)", rest)
	}
	return text
}

// visible is the beginning of s, of n characters, and how many bytes there are after it.
func visible(s string, n int, keep string) (text string, rest int) {
	var b strings.Builder
	for i, r := range s {
		if n == 0 {
			return b.String(), len(s) - i
		}
		n--
		if !invisible(r) || strings.ContainsRune(keep, r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String(), 0
}

// invisible are control characters, what stands for invalid UTF-8, marks that change the
// direction of writing, all spaces but the one, and what is nothing to be seen by Unicode
// (Default_Ignorable_Code_Point) or as fonts draw it.
func invisible(r rune) bool {
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r == utf8.RuneError || r == '\u2800' || r == '\U0001d159' // BRAILLE PATTERN BLANK, MUSICAL SYMBOL NULL NOTEHEAD
}
