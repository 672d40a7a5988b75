package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	const before = "head\n<!-- a -->\nold\n<!-- /a -->\nmiddle\n<!-- b: c -->\n<!-- /b: c -->\nend\n"
	for _, c := range []struct {
		name, document string
		parts          []Part
		want, fails    string
	}{
		{name: "all", document: before, parts: []Part{{"a", "A"}, {"b: c", "B"}}, want: "head\n<!-- a -->\n\nA\n<!-- /a -->\nmiddle\n<!-- b: c -->\n\nB\n<!-- /b: c -->\nend\n"},
		{name: "one", document: before, parts: []Part{{"b: c", "B"}}, want: "head\n<!-- a -->\nold\n<!-- /a -->\nmiddle\n<!-- b: c -->\n\nB\n<!-- /b: c -->\nend\n"},
		{name: "one of two not there", document: before, parts: []Part{{"a", "A"}, {"x", "X"}}, fails: `"<!-- x -->" occurs 0 times`},
		{name: "no end", document: "<!-- a -->\n", parts: []Part{{"a", "A"}}, fails: `"<!-- /a -->" occurs 0 times`},
		{name: "twice", document: before + before, parts: []Part{{"a", "A"}}, fails: `"<!-- a -->" occurs 2 times`},
		{name: "the wrong way round", document: "<!-- /a -->\n<!-- a -->\n", parts: []Part{{"a", "A"}}, fails: "comes before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "document.md")
			if err := os.WriteFile(file, []byte(c.document), 0o600); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, p := range c.parts {
				names = append(names, p.Name)
			}
			want := c.want
			if c.fails != "" {
				want = c.document
			}
			checked := Check(file, names...)
			for _, time := range []string{"first", "second"} {
				err := Write(file, c.parts...)
				for _, err := range []error{checked, err} {
					if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
						t.Errorf("the error is %v, want %q in it", err, c.fails)
					}
				}
				got, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != want {
					t.Errorf("the %s time: got\n%s\nwant\n%s", time, got, want)
				}
			}
		})
	}
	if err := Check(filepath.Join(t.TempDir(), "none.md")); err == nil {
		t.Error("a file that is not there has all markers")
	}
}
