package live

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/observer"
)

// maxFunctions bounds the table of functions.
const maxFunctions = 2000

// A functionRow is a function of a profile.
type functionRow struct {
	Name string `json:"name"`
	// whose code: "own", "std", "runtime", "dep", or "" if it is unknown
	Kind    string  `json:"kind"`
	Module  string  `json:"module,omitempty"`  // its path
	Version string  `json:"version,omitempty"` // of the module
	File    string  `json:"file,omitempty"`
	Line    int     `json:"line,omitempty"`    // where the function begins
	HotLine int     `json:"hotLine,omitempty"` // that ran longest
	Self    float64 `json:"self"`              // the time in the function itself
	Total   float64 `json:"total"`             // the time in it and in its callees
	Samples int     `json:"samples"`           // of Self
}

// A functionTable has the functions of a profile, the one with the most time in itself first.
type functionTable struct {
	profileHead
	Functions []functionRow `json:"functions"` // at most 2,000
	Cut       int           `json:"cut"`       // functions left out
	CutSelf   float64       `json:"cutSelf"`   // their time in themselves
}

// top is the view of a profile as a table.
func top(_ context.Context, _ *handler, p *profiled, _ url.Values) (any, error) {
	t := functionTable{profileHead: p.head(), Functions: []functionRow{}}
	for i, f := range profiles.Functions(p.trace, p.samples) {
		if i >= maxFunctions {
			t.Cut++
			t.CutSelf += observer.Milliseconds(f.Self)
			continue
		}
		t.Functions = append(t.Functions, newFunctionRow(&f))
	}
	return t, nil
}

func newFunctionRow(f *profiles.Function) functionRow {
	return functionRow{
		Name: shown(f.Name), Kind: kind(f.Name), Module: shown(f.Module), Version: shown(f.Version),
		File: shown(f.File), Line: f.Line, HotLine: f.HotLine,
		Self: observer.Milliseconds(f.Self), Total: observer.Milliseconds(f.Total),
		Samples: f.Samples,
	}
}

// functionIndex gives each function of a graph an index.
type functionIndex struct {
	known map[string]*profiles.Function
	rows  []functionRow
	ids   map[string]int
}

func newFunctionIndex(functions []profiles.Function) *functionIndex {
	x := &functionIndex{known: map[string]*profiles.Function{}, rows: []functionRow{},
		ids: map[string]int{}}
	for i := range functions {
		x.known[functions[i].Name] = &functions[i]
	}
	return x
}

func (x *functionIndex) of(name string) int {
	id, ok := x.ids[name]
	if !ok {
		id = len(x.rows)
		x.ids[name] = id
		f := x.known[name]
		if f == nil { // the whole
			f = &profiles.Function{Name: name}
		}
		x.rows = append(x.rows, newFunctionRow(f))
	}
	return id
}

// functionNamed returns the function that the page shows by a name: shown names may be shortened.
// If several functions have that name, it returns the one with the most time in itself.
func functionNamed(functions []profiles.Function, name string) (string, error) {
	i := slices.IndexFunc(functions,
		func(f profiles.Function) bool { return shown(f.Name) == name })
	if i < 0 {
		return "", fmt.Errorf("function %s: this profile has no such function",
			cmp.Or(shown(name), `""`))
	}
	return functions[i].Name, nil
}

// kind returns whose code a function is.
func kind(name string) string {
	switch modules.Read().Of(name).Kind {
	case modules.Main:
		return "own"
	case modules.Standard:
		pkg := modules.Package(name)
		if pkg == "runtime" || strings.HasPrefix(pkg, "internal/") {
			return "runtime"
		}
		return "std"
	case modules.Dependency:
		return "dep"
	default:
		if modules.Package(name) == "" {
			return ""
		}
		return "dep" // of a module that is unknown, as in the binary of a test
	}
}
