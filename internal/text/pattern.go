package text

import "strings"

// Matches reports whether one of the patterns matches name. A pattern is a name, or a prefix of
// names followed by "*".
func Matches(patterns []string, name string) bool {
	for _, pattern := range patterns {
		prefix, many := strings.CutSuffix(pattern, "*")
		if name == pattern || many && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
