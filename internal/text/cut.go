// Package text cuts text from outside to a length, makes it UTF-8 or visible, and writes durations for people.
package text

import "unicode/utf8"

const ellipsis = "…"

// Cut is s if it has no more than limit bytes, else its beginning and "…", together limit bytes
// at most, which is to be 3 or more. It is not cut within a character. Of what is cut the rest
// does not stay in memory.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len(ellipsis)
	for range utf8.UTFMax - 1 { // in what is not UTF-8 there may be no boundary
		if end == 0 || utf8.RuneStart(s[end]) {
			break
		}
		end--
	}
	return s[:end] + ellipsis
}
