package main

import (
	"testing"

	"github.com/perfline/perfline/internal/document"
)

// The document that the tables are written into has the markers of their commands.
func TestDocumentHasMarkers(t *testing.T) {
	if err := document.Check("../../docs/benchmarks.md", "gate", "report", "budgets"); err != nil {
		t.Error(err)
	}
}
