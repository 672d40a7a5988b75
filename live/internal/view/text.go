package view

import (
	"fmt"

	"github.com/perfline/perfline/internal/text"
)

// Characters of text from outside that are shown.
const (
	maxName  = 200
	maxValue = 1000
)

// Shown returns the beginning of s with what cannot be seen as codes: see text.Escape. The page's
// own shown, in format.js, does the same with what the service answers.
func Shown(s string) string {
	name, rest := visible(s, maxName, "")
	if rest > 0 {
		name += "…" // of a name that the service has cut the number would be another
	}
	return name
}

// block is shown for a longer text, of several lines.
func block(s string) string {
	value, rest := visible(s, maxValue, "\n\t")
	if rest > 0 {
		value += fmt.Sprintf("… (%d bytes more)", rest)
	}
	return value
}

// visible is the beginning of s, of n characters, and how many bytes there are after it.
func visible(s string, n int, keep string) (beginning string, rest int) {
	for i := range s {
		if n == 0 {
			return text.Escape(s[:i], keep), len(s) - i
		}
		n--
	}
	return text.Escape(s, keep), 0
}
