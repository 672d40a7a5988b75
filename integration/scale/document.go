package main

import (
	"bytes"
	"fmt"
	"os"
)

// A part is generated text, and the name of the markers that it is written between:
//
//	<!-- name -->
//	…
//	<!-- /name -->
type part struct{ name, text string }

// replace puts the parts into a document, between their markers, which must be there
// once each.
func replace(document []byte, parts []part) ([]byte, error) {
	for _, p := range parts {
		open, end := []byte("<!-- "+p.name+" -->\n"), []byte("<!-- /"+p.name+" -->\n")
		for _, marker := range [][]byte{open, end} {
			if n := bytes.Count(document, marker); n != 1 {
				return nil, fmt.Errorf("the line %q is there %d times, must be once", bytes.TrimSpace(marker), n)
			}
		}
		before, rest, _ := bytes.Cut(document, open)
		_, after, ok := bytes.Cut(rest, end)
		if !ok {
			return nil, fmt.Errorf("the line %q comes before %q", bytes.TrimSpace(end), bytes.TrimSpace(open))
		}
		document = bytes.Join([][]byte{before, open, []byte("\n" + p.text + "\n"), end, after}, nil)
	}
	return document, nil
}

// writeInto puts the parts into a file, in place.
func writeInto(path string, parts []part) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if document, err = replace(document, parts); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, document, 0o644)
}
