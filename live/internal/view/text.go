package view

import (
	"fmt"

	"github.com/perfline/perfline/internal/text"
)

// Limits of text from outside, in characters.
const (
	maxName  = 200
	maxValue = 1000
)

// Shown returns the first 200 characters of s, with codes for invisible characters: see
// text.Escape. If s is longer, an ellipsis follows. The function shown of format.js shortens
// answers of the profiler's service in the same way.
func Shown(s string) string {
	name, rest := visible(s, maxName, "")
	if rest > 0 {
		name += "…" // no number of bytes, since the service may have cut the name before
	}
	return name
}

// block does the same as Shown for a longer text, of several lines.
func block(s string) string {
	value, rest := visible(s, maxValue, "\n\t")
	if rest > 0 {
		value += fmt.Sprintf("… (%d bytes more)", rest)
	}
	return value
}

// visible returns the first n characters of s, escaped, and the number of bytes after them.
func visible(s string, n int, keep string) (beginning string, rest int) {
	for i := range s {
		if n == 0 {
			return text.Escape(s[:i], keep), len(s) - i
		}
		n--
	}
	return text.Escape(s, keep), 0
}
