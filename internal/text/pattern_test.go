package text_test

import (
	"testing"

	"github.com/perfline/perfline/internal/text"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		name     string
		patterns []string
		of       string
		want     bool
	}{
		{"no patterns", nil, "", false},
		{"a whole name", []string{"a", "stock.query"}, "stock.query", true},
		{"the beginning of a whole name", []string{"stock.query"}, "stock.que", false},
		{"more than a whole name", []string{"stock.query"}, "stock.query2", false},
		{"a prefix", []string{"stock.*"}, "stock.query", true},
		{"a prefix alone", []string{"stock.*"}, "stock.", true},
		{"less than a prefix", []string{"stock.*"}, "stock", false},
		{"all names", []string{"*"}, "", true},
		{"an asterisk in a name", []string{"a*b"}, "axb", false},
		{"the pattern itself", []string{"a*b"}, "a*b", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text.Matches(c.patterns, c.of); got != c.want {
				t.Errorf("Matches(%q, %q) is %v, want %v", c.patterns, c.of, got, c.want)
			}
		})
	}
}
