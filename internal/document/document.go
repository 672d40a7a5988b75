// Package document replaces generated text in a document, between two marker lines:
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

// A Part is generated text between two markers. Name is the name in the markers.
type Part struct{ Name, Text string }

// Write replaces the text between the two markers of each part in a file. Write returns an error,
// and does not change the file, in these cases:
//
//   - A marker does not occur exactly once.
//   - The end marker of a part precedes the begin marker.
func Write(path string, parts ...Part) error {
	document, err := replace(path, parts)
	if err != nil {
		return err
	}
	return os.WriteFile(path, document, 0o644)
}

// Check returns the error that [Write] would return for parts with the given names. Check does not
// change the file. Call Check before a long measurement.
func Check(path string, names ...string) error {
	var parts []Part
	for _, name := range names {
		parts = append(parts, Part{Name: name})
	}
	_, err := replace(path, parts)
	return err
}

func replace(path string, parts []Part) ([]byte, error) {
	document, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		open, end := []byte("<!-- "+p.Name+" -->\n"), []byte("<!-- /"+p.Name+" -->\n")
		for _, marker := range [][]byte{open, end} {
			if n := bytes.Count(document, marker); n != 1 {
				return nil, fmt.Errorf("%s: the line %q occurs %d times, must occur once", path,
					bytes.TrimSpace(marker), n)
			}
		}
		before, rest, _ := bytes.Cut(document, open)
		_, after, ok := bytes.Cut(rest, end)
		if !ok {
			return nil, fmt.Errorf("%s: the line %q comes before %q", path, bytes.TrimSpace(end),
				bytes.TrimSpace(open))
		}
		document = bytes.Join([][]byte{before, open, []byte("\n" + p.Text + "\n"), end, after}, nil)
	}
	return document, nil
}
