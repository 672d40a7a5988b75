package text

import "strings"

// Matches reports whether a pattern matches name. A pattern is a name, or the beginning of names
// and "*".
func Matches(patterns []string, name string) bool {
	for _, pattern := range patterns {
		prefix, many := strings.CutSuffix(pattern, "*")
		if name == pattern || many && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
