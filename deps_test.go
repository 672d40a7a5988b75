package perfline_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/perfline/perfline"

// allowed says which folders of this module a folder may import. A package follows the rule
// of the longest folder that has it, so that a sub-package without a rule of its own follows
// its parent's. Data flows one way. The folder exporter is for every program that sends
// spans, and must not cost it the profiler, the requests in memory or the files for viewers.
// Requests in memory read profiles, and must not cost a program the sampler.
var allowed = map[string][]string{
	"observer":             {},
	"marks":                {"observer"},
	"bridge":               {"internal", "observer", "marks", "profiling/spanlabels", "exporter/otlpenc"},
	"bridge/bridgehttp":    {"internal", "observer", "bridge", "profiling/spanlabels"},
	"bridge/bridgegrpc":    {"internal", "observer", "bridge", "profiling/spanlabels"},
	"profiling":            {"internal", "observer", "marks", "profiling/profile", "profiling/spanlabels"},
	"profiling/profile":    {"observer"},
	"profiling/spanlabels": {"internal"},
	"profiling/sessions":   {"internal", "observer", "profiling", "profiling/profile", "profiling/spanlabels"},
	"profiling/service":    {"internal", "observer", "profiling", "profiling/sessions"},
	"exporter":             {"internal", "exporter/otlpenc"},
	"exporter/otlpenc":     {},
	"exporter/requests":    {"internal", "profiling/profile", "exporter/otlpenc"},
	"exporter/viewers":     {"internal", "observer", "profiling/profile", "profiling/sessions"},
	"exporter/live": {"internal", "observer", "profiling/profile", "profiling/sessions", "profiling/service",
		"exporter", "exporter/otlpenc", "exporter/requests", "exporter/viewers"},
	"internal":               {},
	"internal/outputs":       {"internal", "exporter"},
	"internal/spantest":      {"observer"},                                                       // for tests of observer
	"internal/bothproviders": {"observer", "bridge", "exporter/otlpenc", "profiling/spanlabels"}, // for tests of bridge
	"":                       {"internal", "internal/outputs", "observer", "marks", "bridge", "profiling", "profiling/sessions", "profiling/spanlabels", "exporter", "exporter/otlpenc", "exporter/requests"},
}

// onlyFor is what must not be everybody's: the prefix of import paths, and the folders whose
// packages alone may import them; "" is perfline itself. What is served to others costs only those who mount it.
var onlyFor = map[string][]string{
	"connectrpc.com/":             {"profiling/service", "exporter/live"},
	"github.com/grafana/":         {"profiling/pyroscope"},
	module + "/exporter/live":     {"exporter/live"},
	module + "/profiling/service": {"profiling/service", "exporter/live"},

	"go.opentelemetry.io/contrib/exporters/":             {"internal/outputs"},
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric": {"internal/outputs"},
	"go.opentelemetry.io/otel/exporters/prometheus":      {"internal/outputs"},
	"go.opentelemetry.io/otel/exporters/stdout/":         {"internal/outputs"},
	module + "/internal/outputs":                         {""}, // perfline.Start
}

// standardOnly are the folders whose import costs the standard library only.
var standardOnly = []string{
	"observer", "marks", "bridge/bridgehttp/internal/servertiming",
	"internal/document", "internal/environ", "internal/goruntime", "internal/guard", "internal/queue", "internal/secret", "internal/shutdown", "internal/text",
}

func TestImportDirection(t *testing.T) {
	// A file for one system only must not hide an import from the others.
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) { testImportDirection(t, goos) })
	}
}

func testImportDirection(t *testing.T, goos string) {
	// Package, then its imports; then the same with all it depends on.
	for line := range strings.Lines(list(t, goos, `{{.ImportPath}} {{join .Imports " "}}`, "./...")) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		from := folder(pkg)
		rule, ok := allowed[from]
		if !ok {
			t.Errorf("package %s: no folder of it is in the table: say what it may import", pkg)
		}
		for _, imported := range strings.Fields(imports) {
			for prefix, dirs := range onlyFor {
				isOwn := func(dir string) bool {
					return dir == "" && pkg == module || dir != "" && strings.HasPrefix(pkg+"/", module+"/"+dir+"/")
				}
				if strings.HasPrefix(imported, prefix) && !slices.ContainsFunc(dirs, isOwn) {
					t.Errorf("%s imports %s: only %q may", pkg, imported, dirs)
				}
			}
			if own := module + "/profiling/pyroscope"; imported == own && from == "profiling" {
				t.Errorf("%s imports %s: who profiles on demand needs no server's client", pkg, own)
			}
			if !strings.HasPrefix(imported+"/", module+"/") {
				continue
			}
			if to := folder(imported); to != from && !slices.Contains(rule, to) {
				t.Errorf("%s imports %s: %q may import %q only", pkg, imported, from, rule)
			}
		}
	}
	for _, dir := range standardOnly {
		for dep := range strings.Lines(list(t, goos, `{{if not .Standard}}{{.ImportPath}}{{end}}`, "-deps", "./"+dir+"/...")) {
			if dep = strings.TrimSpace(dep); !strings.HasPrefix(dep+"/", module+"/") {
				t.Errorf("%s reaches %s: it may use the standard library only", dir, dep)
			}
		}
	}
}

// Every package may encode spans without a client of OTLP and without the messages of protobuf.
func TestEncoderIsLight(t *testing.T) {
	for dep := range strings.Lines(list(t, "", `{{.ImportPath}}`, "-deps", "./exporter/otlpenc")) {
		for _, heavy := range []string{"google.golang.org/grpc", "google.golang.org/protobuf/proto", "go.opentelemetry.io/proto/", "go.opentelemetry.io/otel/exporters/"} {
			if strings.HasPrefix(dep, heavy) {
				t.Errorf("exporter/otlpenc reaches %s", strings.TrimSpace(dep))
			}
		}
	}
}

// Code that makes spans may label goroutines without the SDK, the formats of profiles and the sampler.
func TestSpanLabelsAreLight(t *testing.T) {
	for dep := range strings.Lines(list(t, "", `{{if not .Standard}}{{.ImportPath}}{{end}}`, "-deps", "./profiling/spanlabels")) {
		switch dep = strings.TrimSpace(dep); {
		case dep == "", dep == module+"/profiling/spanlabels", dep == module+"/internal/goruntime":
		case strings.HasPrefix(dep, module+"/"), strings.HasPrefix(dep, "go.opentelemetry.io/otel/sdk"), strings.HasPrefix(dep, "github.com/google/pprof"):
			t.Errorf("profiling/spanlabels reaches %s", dep)
		}
	}
}

// No folder may import another in a circle: Go refuses a circle of packages, but not of folders.
func TestImportRulesHaveNoCircle(t *testing.T) {
	var visit func(dir string, above []string)
	visit = func(dir string, above []string) {
		if slices.Contains(above, dir) {
			t.Errorf("the table has a circle: %q", append(above, dir))
			return
		}
		rule, ok := allowed[dir]
		if !ok {
			t.Errorf("%q may import %q, which has no rule", above[len(above)-1], dir)
		}
		for _, to := range rule {
			visit(to, append(slices.Clone(above), dir))
		}
	}
	for dir := range allowed {
		visit(dir, nil)
	}
}

// One package links to the runtime, so that a new release of Go is checked in one place.
func TestOnlyGoruntimeLinksToTheRuntime(t *testing.T) {
	const home = "internal/goruntime/"
	links := 0
	for path, text := range sources(t) {
		if !strings.HasSuffix(path, ".s") && !strings.Contains(text, "\n//go:linkname ") {
			continue
		}
		if links++; !strings.HasPrefix(path, home) {
			t.Errorf("%s has a linkname or assembler: both belong in %s", path, home)
		}
	}
	if links == 0 {
		t.Errorf("no file in %s links to the runtime: the test sees nothing", home)
	}
}

// sources are the module's Go and assembler files, by path. Nested modules are not among them.
func sources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != "." {
				return fs.SkipDir
			}
		case strings.HasSuffix(path, ".go"), strings.HasSuffix(path, ".s"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[filepath.ToSlash(path)] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// folder is the longest folder with a rule that has a package of this module, or else the
// package's path. The module's own package is "".
func folder(pkg string) string {
	own := strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
	for dir := own; dir != "."; dir = path.Dir(dir) {
		if _, ok := allowed[dir]; ok {
			return dir
		}
	}
	return own
}

// list runs the go command that runs the tests ("go test" puts it first in PATH).
func list(t *testing.T, goos, format string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-f", format}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS="+goos)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("GOOS=%s go list %v: %v\n%s", goos, args, err, &stderr)
	}
	return string(out)
}

// What only tests and examples need must not reach those who use the module.
func TestModuleStaysLight(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, heavy := range []string{"modernc.org/sqlite", "jaegertracing", "grafana/pyroscope ", "chromedp", "golangci"} {
		if strings.Contains(string(mod), heavy) {
			t.Errorf("go.mod requires %s: that belongs into a nested module", heavy)
		}
	}
}
