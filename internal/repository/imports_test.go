package repository_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// A listedPackage is a package as the go command lists it.
type listedPackage struct {
	imports  []string
	standard bool
	own      bool // of the modules that users get
	command  bool // which no package can import
}

// An importGraph has packages by their paths, with all that they need.
type importGraph map[string]listedPackage

var graphs = map[string]importGraph{} // by operating system and folder: the go command takes a second for each

// importsOf returns the packages that users get of the module in a folder, and all that they need, for an operating system;
// "" is the one of this machine.
func importsOf(t *testing.T, folder, goos string) importGraph {
	t.Helper()
	key := goos + " " + folder
	if g, ok := graphs[key]; ok {
		return g
	}
	patterns := packages
	if folder != "." {
		patterns = []string{"./..."}
	}
	g := importGraph{}
	const format = `{{.ImportPath}} {{.Standard}} {{not .DepOnly}} {{eq .Name "main"}} {{join .Imports " "}}`
	for line := range strings.Lines(listIn(t, folder, goos, format, append([]string{"-deps"}, patterns...)...)) {
		fields := strings.Fields(line)
		g[fields[0]] = listedPackage{imports: fields[4:], standard: fields[1] == "true", own: fields[2] == "true", command: fields[3] == "true"}
	}
	graphs[key] = g
	return g
}

// own returns the packages that users get, in their order.
func (g importGraph) own() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(g)), func(path string) bool { return !g[path].own })
}

// needs returns some packages and all that they need, in their order.
func (g importGraph) needs(t *testing.T, from ...string) []string {
	t.Helper()
	needed := map[string]bool{}
	var add func(path string)
	add = func(path string) {
		if needed[path] {
			return
		}
		needed[path] = true
		for _, imported := range g[path].imports {
			add(imported)
		}
	}
	for _, path := range from {
		if _, ok := g[path]; !ok {
			t.Errorf("package %s is not there", path)
		}
		add(path)
	}
	return slices.Sorted(maps.Keys(needed))
}

// foreign returns what some packages need beside themselves and the standard library.
func (g importGraph) foreign(t *testing.T, from ...string) []string {
	t.Helper()
	return slices.DeleteFunc(g.needs(t, from...), func(path string) bool {
		return slices.Contains(from, path) || g[path].standard || path == "unsafe" || path == "C"
	})
}
