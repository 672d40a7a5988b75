package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/document"
)

// The document that the tables are written into has the markers of their commands.
func TestDocumentHasMarkers(t *testing.T) {
	if err := document.Check("../../docs/lab/benchmarks.md", "judge", "diagnostic", "report", "kept", "signals", "exporter", "heap", "spans", "sizes"); err != nil {
		t.Error(err)
	}
}

// Each table is written between its markers.
func TestTablesAreWritten(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"diagnostic", "| perfline.Start + middleware |"},
		{"exporter", "| exporter.Delivery |"},
		{"signals", "| perfline.measure.duration of the 2 measures"},
		{"heap", "| exporter.Delivery |"},
	} {
		t.Run(c.word, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "document.md")
			if err := os.WriteFile(file, []byte("<!-- "+c.word+" -->\n<!-- /"+c.word+" -->\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := run(t.Context(), []string{"-rounds", "1", "-length", "1ms", "-waiting", "3000", "-burst", "8", "-only", "^http$", "-into", file, c.word}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), c.want) {
				t.Errorf("%q is not in %q", c.want, text)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		name, want string // the word, or what the error has
		args       []string
	}{
		{"none", "judge", nil},
		{"a word", "waits", []string{"-rounds", "1", "waits"}},
		{"no such word", "must be one of judge, diagnostic,", []string{"gate"}},
		{"two words", "must be one of judge, diagnostic,", []string{"judge", "waits"}},
		{"a kind of requests that the judge does not have", "matches no shape", []string{"-only", "^http$", "judge"}},
		{"a short run of one command", "it runs all commands", []string{"-short", "judge"}},
		{"no rounds", "-rounds -1: must be at least 1", []string{"-rounds", "-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := parse(c.args)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("the error is %q, want %q in it", err, c.want)
				}
			} else if got.word != c.want {
				t.Errorf("the word is %q, want %q", got.word, c.want)
			}
		})
	}
}

// A service of the judge begins with as little memory as a peer's.
func TestServiceBeginsEmpty(t *testing.T) {
	if got := liveHeap(); got > 8<<20 {
		t.Errorf("the program holds %d bytes before its command runs, want at most 8 MiB", got)
	}
}
