package livepage

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
)

// A Recording has the JSON answers of a page, by Key.
type Recording map[string]json.RawMessage

// Key identifies a request to a page: its method, its path below the page's address with its query,
// and its body in JSON, if it has one. The order of parameters and of fields does not matter.
func Key(method, path, body string) string {
	path, query, _ := strings.Cut(path, "?")
	if q, err := url.ParseQuery(query); err == nil && len(q) > 0 {
		path += "?" + q.Encode()
	}
	var argument any
	if json.Unmarshal([]byte(body), &argument) == nil {
		if sorted, err := json.Marshal(argument); err == nil {
			body = string(sorted)
		}
	}
	return strings.TrimSpace(method + " " + path + " " + body)
}

// ReadRecording reads a file that Write wrote.
func ReadRecording(file string) (r Recording, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// Write writes r into a file.
func (r Recording) Write(file string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
