package repository_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/architecture.md has all packages that others can import, and the files that it names are there.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	atRoot(t)
	text := read(t, "docs/architecture.md")
	for name := range ownPackages(t) {
		if isPublic(name) && !strings.Contains(string(text), "\n| `"+name+"` |") {
			t.Errorf("its table lacks package %s", name)
		}
	}
	for _, file := range regexp.MustCompile("`([a-z0-9_/]+(?:\\.go|/[a-z0-9_]+))`").FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(file[1]); err != nil {
			t.Errorf("it names %s: %v", file[1], err)
		}
	}
}

// docs/architecture-layers.svg has each public package once, and some others. What a package imports, directly or not, is in its
// own layer or in a layer below.
func TestLayersAreThoseOfTheImports(t *testing.T) {
	atRoot(t)
	layers := map[string]int{}
	name := regexp.MustCompile(`class="name"[^>]*>([^<]+)</text>`)
	drawn := strings.Split(string(read(t, "docs/architecture-layers.svg")), `<g class="layer">`)[1:]
	for i, layer := range drawn {
		for _, m := range name.FindAllStringSubmatch(layer, -1) {
			if _, twice := layers[m[1]]; twice {
				t.Errorf("package %s is drawn twice", m[1])
			}
			layers[m[1]] = len(drawn) - i
		}
	}
	packages := ownPackages(t)
	for from, deps := range packages {
		if layers[from] == 0 {
			if isPublic(from) {
				t.Errorf("package %s is not drawn", from)
			}
			continue
		}
		for _, to := range deps {
			if layers[to] > layers[from] {
				t.Errorf("%s needs %s, which is drawn above", from, to)
			}
		}
	}
	for name := range layers {
		if _, ok := packages[name]; !ok {
			t.Errorf("package %s is drawn, but not there", name)
		}
	}
}

// isPublic reports whether others can import a package, and write code for it by hand.
func isPublic(name string) bool {
	return !strings.Contains("/"+name, "/internal/") && !strings.Contains(name, "/profilerv1")
}

// ownPackages returns the packages by their paths in the repository, each with those that it needs.
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
			if !ok {
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
