// Package text cuts, repairs and escapes foreign text, matches names with patterns, and formats
// durations and names of functions.
package text

import "unicode/utf8"

const ellipsis = "…"

// Cut returns s if s contains at most limit bytes. Otherwise, Cut returns the beginning of s and
// "…", together at most limit bytes. limit must be 3 or more. Cut does not split a character. A
// shortened result shares no memory with s.
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
