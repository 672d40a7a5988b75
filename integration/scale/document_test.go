package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	const before = "head\n<!-- a -->\nold\n<!-- /a -->\nmiddle\n<!-- b: c -->\n<!-- /b: c -->\nend\n"
	for _, c := range []struct {
		name, document string
		parts          []part
		want, fails    string
	}{
		{name: "all", document: before, parts: []part{{"a", "A"}, {"b: c", "B"}}, want: "head\n<!-- a -->\n\nA\n<!-- /a -->\nmiddle\n<!-- b: c -->\n\nB\n<!-- /b: c -->\nend\n"},
		{name: "one", document: before, parts: []part{{"b: c", "B"}}, want: "head\n<!-- a -->\nold\n<!-- /a -->\nmiddle\n<!-- b: c -->\n\nB\n<!-- /b: c -->\nend\n"},
		{name: "not there", document: before, parts: []part{{"x", "X"}}, fails: `"<!-- x -->" is there 0 times`},
		{name: "no end", document: "<!-- a -->\n", parts: []part{{"a", "A"}}, fails: `"<!-- /a -->" is there 0 times`},
		{name: "twice", document: before + before, parts: []part{{"a", "A"}}, fails: `"<!-- a -->" is there 2 times`},
		{name: "the wrong way round", document: "<!-- /a -->\n<!-- a -->\n", parts: []part{{"a", "A"}}, fails: "comes before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := replace([]byte(c.document), c.parts)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("the error is %v, want one with %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			again, err := replace(got, c.parts)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time gives %v and\n%s", err, again)
			}
		})
	}
}

// The document that the command writes into has all the markers that it needs.
func TestDocumentHasMarkers(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "scale.md"))
	if err != nil {
		t.Fatal(err)
	}
	var parts []part
	for _, name := range partNames {
		parts = append(parts, part{name, "text"})
	}
	if _, err := replace(document, parts); err != nil {
		t.Error(err)
	}
}
