package mcpserver

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The quotes of text from outside. Neither quoted text nor perfline's own text contains a quote.
const (
	openQuote  = '‹'
	closeQuote = '›'
)

// Limits of quoted text, in bytes after escaping. An answer must have room for a span or an
// attribute with the longest names: see TestWidestNames.
const (
	maxName  = 120
	maxValue = 400
)

// quote returns s within quotes, shortened to n bytes, with codes for misleading characters. The
// number of missing bytes follows the quotes of a shortened text.
func quote(s string, n int) string {
	var b strings.Builder
	b.WriteRune(openQuote)
	for at, r := range s {
		c := string(r)
		if misleads(r) {
			c = code(s[at:], r)
		}
		if n -= len(c); n < 0 {
			b.WriteRune(closeQuote)
			fmt.Fprintf(&b, "(%d bytes more)", len(s)-at)
			return b.String()
		}
		b.WriteString(c)
	}
	b.WriteRune(closeQuote)
	return b.String()
}

// code returns an escape code for r, the first character of s.
func code(s string, r rune) string {
	switch {
	case r == utf8.RuneError && s[0] >= 0x80 && !strings.HasPrefix(s, string(utf8.RuneError)):
		return fmt.Sprintf("\\x%02x", s[0])
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r > 0xffff:
		return fmt.Sprintf("\\U%08x", r)
	}
	return fmt.Sprintf("\\u%04x", r)
}

// misleads reports whether r is invisible or looks like the end of the data. This includes control
// characters, marks that change the direction of writing, spaces other than U+0020, and quotation
// marks and brackets outside ASCII.
func misleads(r rune) bool {
	return !unicode.IsPrint(r) || r == utf8.RuneError || r == '\u2800' ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
			unicode.Pi, unicode.Pf) ||
		r > unicode.MaxASCII && unicode.In(r, unicode.Ps, unicode.Pe) ||
		strings.ContainsRune(lookalikes, r)
}

// lookalikes are further characters that look like the quotes.
const lookalikes = "\uff1c\uff1e\u02c2\u02c3\u1438\u1433\u227a\u227b"
