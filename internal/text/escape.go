package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns s with codes such as \u200b in place of invisible characters. Invisible characters
// may control a terminal or mislead a reader. The parameter keep lists invisible characters that
// remain.
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

// Line escapes s, and cuts the escaped text to limit bytes: see [Escape] and [Cut].
func Line(s string, limit int) string { return Cut(Escape(Cut(s, limit), ""), limit) }

// invisible reports whether a reader cannot see r: a control character, the sign for invalid UTF-8,
// a mark for the direction of writing, any space but U+0020, another Default_Ignorable_Code_Point,
// or a character that fonts draw as nothing.
func invisible(r rune) bool {
	return !unicode.IsPrint(r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		// BRAILLE PATTERN BLANK, MUSICAL SYMBOL NULL NOTEHEAD
		r == utf8.RuneError || r == '\u2800' || r == '\U0001d159'
}
