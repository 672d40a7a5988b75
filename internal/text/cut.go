// Package text cuts text from outside to a length, makes it UTF-8 or visible, matches names with
// patterns, and writes durations and the names of functions for people.
package text

import "unicode/utf8"

const ellipsis = "…"

// Cut returns s if it has at most limit bytes. Otherwise it returns the beginning of s and "…",
// together at most limit bytes. limit must be 3 or more. Cut does not split a character, and does
// not keep the rest of s in memory.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return Start(s, limit-len(ellipsis)) + ellipsis
}

// Start returns the beginning of s, at most limit bytes. It does not split a character.
func Start(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit
	for range utf8.UTFMax - 1 { // text that is not UTF-8 may have no boundary
		if end == 0 || utf8.RuneStart(s[end]) {
			break
		}
		end--
	}
	return s[:end]
}
