package repository_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the length of a line, with 4 columns for a tab.
const maxColumns = 100

// Longer lines may end in a directive for the linter, or have a text that is not cut, so that a
// search for a message finds its line.
var (
	directive = regexp.MustCompile(`//(go:|nolint).*$`)
	longText  = regexp.MustCompile("\"([^\"\\\\]|\\\\.){50,}\"|`[^`]{50,}")
)

// Lines of the product's code and comments have at most 100 columns. Tests may have longer ones:
// the rows of their tables.
func TestColumns(t *testing.T) {
	atRoot(t)
	for _, file := range files(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") ||
			strings.HasSuffix(file, ".pb.go") || strings.HasSuffix(file, ".connect.go") {
			continue
		}
		n := 0
		for line := range strings.Lines(string(read(t, file))) {
			n++
			line = strings.TrimRight(directive.ReplaceAllString(strings.TrimSuffix(line, "\n"), ""), " ")
			columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if columns > maxColumns && !longText.MatchString(line) {
				t.Errorf("%s:%d has %d columns, want %d at most", file, n, columns, maxColumns)
			}
		}
	}
}
