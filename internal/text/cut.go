// Package text cuts, repairs and escapes foreign text, matches names with patterns, and formats
// durations and names of functions.
package text

import "unicode/utf8"

const ellipsis = "…"

// Cut returns s, or the beginning of s and "…" if s has more than limit bytes. The result has at
// most limit bytes, which must be 3 or more, and does not split a character. The shorter text does
// not share memory with s.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return Start(s, limit-len(ellipsis)) + ellipsis
}

// Start returns the beginning of s, at most limit bytes. Start does not split a character.
func Start(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit
	for range utf8.UTFMax - 1 { // invalid UTF-8 may have no boundary
		if end == 0 || utf8.RuneStart(s[end]) {
			break
		}
		end--
	}
	return s[:end]
}
