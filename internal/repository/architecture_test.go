package repository_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/architecture.md has all packages that others can import. The files that it and its deeper pages
// name are there.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	atRoot(t)
	text := read(t, "docs/architecture.md")
	for name := range ownPackages(t) {
		if isPublic(name) && !strings.Contains(string(text), "\n| `"+name+"` |") {
			t.Errorf("its table lacks package %s", name)
		}
	}
	file := regexp.MustCompile("`([a-z0-9_/]+(?:\\.(?:go|js|html)|/[a-z0-9_]+))`")
	for _, document := range []string{"architecture", "architecture-request", "architecture-goroutines"} {
		document = "docs/" + document + ".md"
		for _, m := range file.FindAllSubmatch(read(t, document), -1) {
			if _, err := os.Stat(string(m[1])); err != nil {
				t.Errorf("%s names %s: %v", document, m[1], err)
			}
		}
	}
}

// isPublic reports whether others can import a package, and write code for it by hand.
func isPublic(name string) bool {
	return !strings.Contains("/"+name, "/internal/") && !strings.Contains(name, "/profilerv1")
}

// ownPackages returns the packages that another can import, by their paths in the repository, each with those that it needs.
func ownPackages(t *testing.T) map[string][]string {
	t.Helper()
	own := map[string][]string{}
	short := func(path string) (name string, isOwn bool) {
		if path == module {
			return "perfline", true
		}
		return strings.CutPrefix(path, module+"/")
	}
	for _, folder := range []string{".", "mcpserver"} {
		graph := importsOf(t, folder, "")
		for _, path := range graph.own() {
			from, ok := short(path)
			if !ok || graph[path].command {
				continue
			}
			own[from] = nil
			for _, needed := range graph.foreign(t, path) {
				if to, ok := short(needed); ok {
					own[from] = append(own[from], to)
				}
			}
		}
	}
	return own
}
