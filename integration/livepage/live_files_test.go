package livepage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline/integration/firefox"
)

// filesOfSession: a click saves each of a session's files, and a program of others reads it. All
// files have the samples that the page counts. Package viewers tests their other content.
func (l *liveShop) filesOfSession(t *testing.T) {
	t.Helper()
	id := l.session
	p := open(t, l.shop.Page+fmt.Sprintf("#/sessions/%d", id), View{})
	p.wait(`document.querySelector("#files a") && document.querySelector("#session-facts").innerText.includes("samples")`)
	samples := eval[int](p, `Number(document.querySelector("#session-facts").innerText.match(/([0-9,]+) samples/)[1].replaceAll(",", ""))`)

	for format, c := range map[string]struct {
		extension string
		check     func(t *testing.T, name string, file []byte) (samples int)
	}{
		"pprof": {"pb.gz", func(t *testing.T, name string, _ []byte) int {
			if out := output(t, "go", "tool", "pprof", "-top", "-cum", name); !strings.Contains(out, "Type: cpu") {
				t.Errorf("go tool pprof shows\n%.2000s\nwant CPU time", out)
			}
			return samples // pprof adds up those that are alike
		}},
		"json": {"json", func(t *testing.T, _ string, file []byte) int {
			var trace struct{ Samples []struct{ Timestamp float64 } }
			if err := json.Unmarshal(file, &trace); err != nil {
				t.Fatal(err)
			}
			return len(trace.Samples)
		}},
		"speedscope": {"speedscope.json", func(t *testing.T, name string, file []byte) int {
			wrong := output(t, "node", filepath.Join("..", "viewers", "schema.mjs"), filepath.Join(modules, "ajv"),
				filepath.Join(modules, "speedscope", "dist", "release", "file-format-schema.json"), name)
			if strings.TrimSpace(wrong) != "[null]" {
				t.Errorf("speedscope's schema finds %s", wrong)
			}
			var all struct {
				Profiles []struct {
					Name    string
					Samples [][]int
				}
			}
			if err := json.Unmarshal(file, &all); err != nil {
				t.Fatal(err)
			}
			return len(all.Profiles[0].Samples)
		}},
		"firefox": {"firefox.json", func(t *testing.T, name string, _ []byte) int {
			var list struct {
				Threads []struct {
					Handle string `json:"threadHandle"`
				}
			}
			profiler, err := firefox.Open(t.Context(), modules, name)
			if err != nil {
				t.Fatal(err)
			}
			defer profiler.Close()
			if err := profiler.Threads(&list); err != nil {
				t.Fatal(err)
			}
			if len(list.Threads) < 2 {
				t.Errorf("the Firefox Profiler shows %d threads, want the process and each request", len(list.Threads))
			}
			return samples
		}},
	} {
		t.Run(format, func(t *testing.T) {
			name, file, err := p.Download(fmt.Sprintf("#files a[data-format=%s]", format))
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("session-%d.%s", id, c.extension); name != want {
				t.Errorf("it is saved as %s, want %s", name, want)
			}
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			if n := c.check(t, path, file); n != samples {
				t.Errorf("%d samples are in it, the page says %d", n, samples)
			}
		})
	}
}

// filesOfRequest: a click saves each of a request's files. Package viewers tests their content.
func (l *liveShop) filesOfRequest(t *testing.T) {
	t.Helper()
	p := open(t, l.shop.Page, View{})
	p.wait(`document.querySelector("#slowest tbody tr")`)
	p.click("#slowest tbody a")
	p.wait(`document.querySelector("#files")`)
	p.click("#files summary")
	trace := p.text("#trace")
	offered := eval[[]string](p, `[...document.querySelectorAll("#files a")].map((a) => a.dataset.format)`)
	for _, format := range []string{"svg", "firefox", "perfetto", "otlp"} { // also of a request without samples
		if !slices.Contains(offered, format) {
			t.Errorf("the files are %q, want %s among them", offered, format)
		}
	}
	for _, format := range offered {
		name, file, err := p.Download("#files a[data-format=" + format + "]")
		p.must(err)
		if want := "request-" + trace + "." + extensions[format]; name != want || len(file) < 100 {
			t.Errorf("%d bytes are saved as %s, want %s", len(file), name, want)
		}
		if format == "svg" && !strings.HasPrefix(string(file), "<svg") {
			t.Errorf("the picture begins with %.80q", file)
		}
	}
}

// output is what a program prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out, stderr.String())
	}
	return string(out)
}
