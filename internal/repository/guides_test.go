package repository_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// references are the documents that may be longer than a guide, each with the reason.
var references = map[string]string{
	"docs/page-json.md":      "programs need all fields of the page's data",
	"docs/specifications.md": "all requirements have a row, with their tests",
	"docs/variables.md":      "all variables have a row",
}

// A guide fits on two screens, and so does each other document of docs that is no reference.
func TestGuideLength(t *testing.T) {
	atRoot(t)
	const screens, most = 100, 900 // lines that are not empty; words without code and borders of tables
	guides, err := filepath.Glob("docs/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatalf("no guide: %v", err)
	}
	for _, guide := range guides {
		text := read(t, guide)
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" })
		words := len(wordsOf(text))
		long := len(lines) > screens || words > most
		if reason := references[guide]; reason == "" && long {
			t.Errorf("%s has %d lines and %d words, want at most %d and %d",
				guide, len(lines), words, screens, most)
		} else if reason != "" && !long {
			t.Errorf("%s is no longer than a guide: it needs no exception", guide)
		}
	}
}

// wordsOf returns the words of a document without code and borders of tables.
func wordsOf(text []byte) []string {
	border := func(word string) bool { return strings.Trim(word, "|:-") == "" }
	return slices.DeleteFunc(strings.Fields(string(fenced.ReplaceAll(text, nil))), border)
}

// A guide links to code that runs.
func TestGuidesLinkToExamples(t *testing.T) {
	atRoot(t)
	runs := regexp.MustCompile(`\]\(\.\./(\S+_test\.go|examples/\S+|deploy/\S+)\)`)
	for _, guide := range []string{
		"beside", "databases", "exporter", "frameworks", "jobs", "kafka", "keep", "library", "logs", "measures", "messages",
		"opentelemetry", "otelhttp", "platform", "profiling", "pyroscope", "redis", "rpc", "service", "shop", "signals", "streams", "tracerprovider",
	} {
		if !runs.Match(read(t, "docs/"+guide+".md")) {
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
