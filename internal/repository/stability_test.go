package repository_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/stability.md has each package that others can import in one row, and the package's documentation begins with that level.
func TestStabilityOfEachPackage(t *testing.T) {
	atRoot(t)
	levels := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (stable|may change) \| .* \| (.*) \|$`).FindAllStringSubmatch(string(read(t, "docs/stability.md")), -1) {
		for _, name := range strings.Split(row[2], ", ") {
			name = strings.Trim(name, "`")
			if _, twice := levels[name]; twice {
				t.Errorf("%s has two levels", name)
			}
			levels[name] = row[1]
		}
	}
	packages := ownPackages(t)
	for name := range packages {
		if !isPublic(name) {
			continue
		}
		level, ok := levels[name]
		if !ok {
			t.Errorf("docs/stability.md lacks package %s", name)
			continue
		}
		folder := strings.TrimPrefix(name, "perfline")
		if want := fmt.Sprintf("Package %s (%s) ", path.Base(name), level); !strings.HasPrefix(packageDoc(t, folder), want) {
			t.Errorf("the documentation of package %s does not begin with %q", name, want)
		}
	}
	for name := range levels {
		if _, ok := packages[name]; !ok {
			t.Errorf("docs/stability.md has %s, which is no package", name)
		}
	}
}

// packageDoc returns the documentation of the package in a folder.
func packageDoc(t *testing.T, folder string) string {
	t.Helper()
	var doc strings.Builder
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		doc.WriteString(f.Doc.Text())
	}
	return doc.String()
}

// The table of releases that perfline works with is made from what the gate runs, and from what go.mod requires.
func TestCompatibilityDocumented(t *testing.T) {
	atRoot(t)
	gate, workflow := string(read(t, ".ci/run")), string(read(t, ".github/workflows/ci.yml"))
	one := func(text, pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("nothing matches %s", pattern)
		}
		return m[1]
	}
	releases := strings.Fields(strings.ReplaceAll(one(gate, `(?s)\ngo_releases=\((.*?)\)`), "go1", "1"))
	light := strings.TrimPrefix(one(gate, `\nlight_release=(\S+)`), "go")
	required := func(file, of string) string { return one(string(read(t, file)), regexp.QuoteMeta(of)+` v(\S+)`) }
	hosted := regexp.MustCompile(`ubuntu-\S+-arm|macos-[0-9]+|windows-[0-9]+`).FindAllString(workflow, -1)
	slices.Sort(hosted)
	systems := "Linux on amd64 in each gate; " + strings.Join(slices.Compact(hosted), ", ") + " on hosted machines"
	var table strings.Builder
	table.WriteString("| | |\n|---|---|\n")
	for _, row := range [][2]string{
		{"Go", strings.Join(releases, ", ")},
		{"Go, for `marks`, `observer` and `internal/record`", "from " + light},
		{"OpenTelemetry", "from " + required("go.mod", "go.opentelemetry.io/otel") + "; the newest one is tried in each run"},
		{"OpenTelemetry's logs", "from " + required("go.mod", "go.opentelemetry.io/otel/log")},
		{"gRPC", "from " + required("go.mod", "google.golang.org/grpc")},
		{"the Go SDK of the Model Context Protocol", "from " + required("mcpserver/go.mod", "github.com/modelcontextprotocol/go-sdk")},
		{"systems", systems},
	} {
		fmt.Fprintf(&table, "| %s | %s |\n", row[0], row[1])
	}
	documented(t, "docs/stability.md", "compatibility", table.String())
}
