// Package document puts what a command has measured into a document, in place, between
// markers that are a line each:
//
//	<!-- name -->
//	…
//	<!-- /name -->
package document

import (
	"bytes"
	"fmt"
	"os"
)

// A Part is generated text, and the name of the markers that it is written between.
type Part struct{ Name, Text string }

// Write puts the parts into a file. Where a marker is not there once, or an end comes
// before its begin, it is an error and the file is as before.
func Write(path string, parts ...Part) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if document, err = replace(document, parts); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, document, 0o644)
}

// Check returns the error that [Write] would return for parts of these names. A long
// measurement calls it first.
func Check(path string, names ...string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var parts []Part
	for _, name := range names {
		parts = append(parts, Part{Name: name})
	}
	if _, err := replace(document, parts); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func replace(document []byte, parts []Part) ([]byte, error) {
	for _, p := range parts {
		open, end := []byte("<!-- "+p.Name+" -->\n"), []byte("<!-- /"+p.Name+" -->\n")
		for _, marker := range [][]byte{open, end} {
			if n := bytes.Count(document, marker); n != 1 {
				return nil, fmt.Errorf("the line %q occurs %d times, must occur once",
					bytes.TrimSpace(marker), n)
			}
		}
		before, rest, _ := bytes.Cut(document, open)
		_, after, ok := bytes.Cut(rest, end)
		if !ok {
			return nil, fmt.Errorf("the line %q comes before %q", bytes.TrimSpace(end),
				bytes.TrimSpace(open))
		}
		document = bytes.Join([][]byte{before, open, []byte("\n" + p.Text + "\n"), end, after}, nil)
	}
	return document, nil
}
