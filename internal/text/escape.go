package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns s with codes in place of what cannot be seen, except for the characters in keep. A
// terminal might obey them, or a reader might be misled.
func Escape(s, keep string) string {
	var b strings.Builder
	for _, r := range s {
		if !invisible(r) || strings.ContainsRune(keep, r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}

// Line returns s within a line: escaped as by [Escape], and cut to limit bytes as by [Cut].
func Line(s string, limit int) string { return Cut(Escape(Cut(s, limit), ""), limit) }

// invisible reports whether a reader cannot see r. These are control characters, the sign for
// invalid UTF-8, marks that change the direction of writing, and all spaces but the usual one.
// Unicode has more (Default_Ignorable_Code_Point), and fonts draw some others as nothing.
func invisible(r rune) bool {
	return !unicode.IsPrint(r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		// BRAILLE PATTERN BLANK, MUSICAL SYMBOL NULL NOTEHEAD
		r == utf8.RuneError || r == '\u2800' || r == '\U0001d159'
}
