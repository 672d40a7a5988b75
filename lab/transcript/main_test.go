package main

import (
	"testing"

	"github.com/perfline/perfline/internal/document"
)

func TestDocumentHasMarker(t *testing.T) {
	if err := document.Check("../../docs/lab/agent-transcript.md", marker); err != nil {
		t.Error(err)
	}
}
