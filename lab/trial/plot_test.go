package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

// TestDrawSVG has the picture be XML in which everything is named.
func TestDrawSVG(t *testing.T) {
	var samples []sample
	for i := range 60 {
		samples = append(samples, sample{at: time.Duration(i) * time.Second, memory: uint64(30+i%7) << 20, heap: uint64(5+i%3) << 20})
	}
	file := filepath.Join(t.TempDir(), "soak.svg")
	episodes := []episode{
		{jaegerName, backend.Hang, 5 * time.Second, 10 * time.Second},
		{collectorName, killed, 12 * time.Second, 10 * time.Second},
	}
	if err := drawSVG(file, samples, episodes, time.Minute); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for d := xml.NewDecoder(strings.NewReader(string(data))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		if chars, ok := token.(xml.CharData); ok {
			said = append(said, strings.TrimSpace(string(chars)))
		}
	}
	for _, want := range []string{"live heap", "minutes", "MiB", "Jaeger", "Collector", "Pyroscope", "hanging", "killed"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("the picture does not say %q: %q", want, said)
		}
	}
	if err := drawSVG(filepath.Join(t.TempDir(), "none", "soak.svg"), samples, episodes, time.Minute); err == nil {
		t.Error("a folder that is not there is no error")
	}
}
