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
	for name := range publicPackages(t) {
		if !strings.Contains(string(text), "\n| `"+name+"` |") {
			t.Errorf("its table lacks package %s", name)
		}
	}
	for _, file := range regexp.MustCompile("`([a-z0-9_/]+(?:\\.go|/[a-z0-9_]+))`").FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(file[1]); err != nil {
			t.Errorf("it names %s: %v", file[1], err)
		}
	}
}

// docs/architecture-layers.svg has each package once. What a package imports, directly or not, is in its
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
	packages := publicPackages(t)
	for from, deps := range packages {
		if layers[from] == 0 {
			t.Errorf("package %s is not drawn", from)
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

// publicPackages returns the packages that others can import and the engine below them, by their paths in the repository, each
// with those that it needs.
func publicPackages(t *testing.T) map[string][]string {
	t.Helper()
	public := map[string][]string{}
	short := func(path string) (name string, isPublic bool) {
		if path == module {
			return "perfline", true
		}
		name, own := strings.CutPrefix(path, module+"/")
		return name, own && (name == "internal/record" || !strings.Contains(path, "/internal/") && !strings.Contains(path, "/profilerv1"))
	}
	for _, folder := range []string{".", "mcpserver"} {
		graph := importsOf(t, folder, "")
		for _, path := range graph.own() {
			from, ok := short(path)
			if !ok {
				continue
			}
			public[from] = nil
			for _, needed := range graph.foreign(t, path) {
				if to, ok := short(needed); ok {
					public[from] = append(public[from], to)
				}
			}
		}
	}
	return public
}
