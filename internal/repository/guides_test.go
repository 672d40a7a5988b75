package repository_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A guide fits on two screens and links to code that runs. Laboratory tables are in docs/lab.
func TestGuides(t *testing.T) {
	atRoot(t)
	const screens = 120 // lines
	runs := regexp.MustCompile(`\]\(\.\./(\S+_test\.go|examples/\S+|deploy/\S+)\)`)
	for _, guide := range []string{
		"databases", "exporter", "frameworks", "jobs", "keep", "library", "logs", "measures", "opentelemetry", "otelhttp", "platform", "profiling", "pyroscope", "service", "signals", "tracerprovider",
	} {
		text := read(t, "docs/"+guide+".md")
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" })
		if len(lines) > screens {
			t.Errorf("docs/%s.md has %d lines, want at most %d", guide, len(lines), screens)
		}
		if !runs.Match(text) {
			t.Errorf("docs/%s.md links to no example that runs", guide)
		}
	}
}

// The README is about 500 words, without its code and its table.
func TestREADMELength(t *testing.T) {
	atRoot(t)
	table := regexp.MustCompile(`(?m)^\|.*$`)
	words := strings.Fields(string(table.ReplaceAll(fenced.ReplaceAll(read(t, "README.md"), nil), nil)))
	if len(words) > 520 {
		t.Errorf("README.md has %d words, want at most 520", len(words))
	}
}

// Tests that a document names exist.
func TestNamedTests(t *testing.T) {
	atRoot(t)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, file := range files(t, "_test.go") {
		for _, m := range declared.FindAllSubmatch(read(t, file), -1) {
			tests[string(m[1])] = true
		}
	}
	found := 0
	for _, file := range files(t, ".md") {
		for _, m := range named.FindAllSubmatch(read(t, file), -1) {
			found++
			if !tests[string(m[1])] {
				t.Errorf("%s names %s, which does not exist", file, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no document names a test")
	}
}
