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
	if err := document.Check("../../docs/lab/benchmarks.md", "gate", "report", "budgets", "exporter", "signals", "heap", "sizes"); err != nil {
		t.Error(err)
	}
}

// Each table is written between its markers.
func TestTablesAreWritten(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"gate", "| perfline.Start + middleware |"},
		{"exporter", "| exporter.Delivery |"},
		{"signals", "| perfline.measure.duration of the 2 measures"},
		{"heap", "| exporter.Delivery |"},
	} {
		t.Run(c.word, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "document.md")
			if err := os.WriteFile(file, []byte("<!-- "+c.word+" -->\n<!-- /"+c.word+" -->\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := run(t.Context(), []string{"-rounds", "1", "-length", "1ms", "-only", "^http$", "-into", file, c.word}); err != nil {
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

// A service of the judge begins with as little memory as a peer's.
func TestServiceBeginsEmpty(t *testing.T) {
	if got := live(); got > 8<<20 {
		t.Errorf("the program holds %d bytes before its command runs, want at most 8 MiB", got)
	}
}
