package main

import (
	"testing"

	"github.com/perfline/perfline/internal/document"
)

func TestDocumentHasMarkers(t *testing.T) {
	if err := document.Check("../../docs/lab/agent-transcript.md", marker, crashMarker); err != nil {
		t.Error(err)
	}
	if err := document.Check("../../docs/blackbox.md", reportMarker); err != nil {
		t.Error(err)
	}
}
