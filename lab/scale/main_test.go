package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/document"
)

func TestFlagsErrors(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"an argument", "now", `arguments ["now"]`},
		{"too short", "-length 99ms", "-length 99ms: must be at least 100ms"},
		{"a short run into a document", "-short -into scale.md", "its figures mean nothing"},
		{"no duration", "-length soon", `invalid value "soon"`},
		{"unknown", "-fast", "not defined: -fast"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var usage bytes.Buffer
			if _, err := parse(strings.Fields(c.args), &usage); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
}

// The document that the command writes into has all the markers that it needs.
func TestDocumentHasMarkers(t *testing.T) {
	if err := document.Check("../../docs/lab/scale.md", partNames...); err != nil {
		t.Error(err)
	}
}

func TestShortIsShort(t *testing.T) {
	for _, c := range []struct {
		name, args string
		length     time.Duration
		halvings   int
	}{
		{"in full", "-length 5s", 5 * time.Second, 2},
		{"short", "-short -length 5s", 300 * time.Millisecond, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := parse(strings.Fields(c.args), new(bytes.Buffer))
			if err != nil {
				t.Fatal(err)
			}
			if o.length != c.length || o.halvings != c.halvings {
				t.Errorf("length %v, halvings %d, want %v and %d", o.length, o.halvings, c.length, c.halvings)
			}
		})
	}
}
