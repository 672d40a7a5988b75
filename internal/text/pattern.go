package text

import "strings"

// Matches reports whether name is one of the patterns. A pattern is a whole name, or the beginning
// of names with "*" behind.
func Matches(patterns []string, name string) bool {
	for _, pattern := range patterns {
		prefix, many := strings.CutSuffix(pattern, "*")
		if name == pattern || many && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
