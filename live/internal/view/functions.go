package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/profiles"
)

const maxFunctions = 2000 // in a table

// A functionRow is a function of a profile.
type functionRow struct {
	Name    string  `json:"name"`              // name of the function
	Kind    string  `json:"kind"`              // own, std, runtime, dep, or empty if unknown
	Module  string  `json:"module,omitempty"`  // path of the module
	Version string  `json:"version,omitempty"` // version of the module
	File    string  `json:"file,omitempty"`    // source file
	Line    int     `json:"line,omitempty"`    // first line of the function
	HotLine int     `json:"hotLine,omitempty"` // line with the most time
	Self    float64 `json:"self"`              // time in the function itself
	Total   float64 `json:"total"`             // time in the function and its callees
	Samples int     `json:"samples"`           // samples of Self
}

// A FunctionTable lists the functions of a profile by their time in themselves, descending.
type FunctionTable struct {
	profileHead
	Functions []functionRow `json:"functions"` // at most 2,000
	Cut       int           `json:"cut"`       // functions left out
	CutSelf   float64       `json:"cutSelf"`   // time in the functions left out
}

// NewFunctionTable returns the table of a profile's functions.
func NewFunctionTable(p *Profile) FunctionTable {
	t := FunctionTable{profileHead: p.head(), Functions: []functionRow{}}
	for i, f := range profiles.Functions(p.trace, p.samples) {
		if i >= maxFunctions {
			t.Cut++
			t.CutSelf += ms(f.Self)
			continue
		}
		t.Functions = append(t.Functions, newFunctionRow(&f))
	}
	return t
}

func newFunctionRow(f *profiles.Function) functionRow {
	return functionRow{
		Name: Shown(f.Name), Kind: kind(f.Name), Module: Shown(f.Module), Version: Shown(f.Version),
		File: Shown(f.File), Line: f.Line, HotLine: f.HotLine,
		Self: ms(f.Self), Total: ms(f.Total), Samples: f.Samples,
	}
}

// A functionIndex numbers the functions of a graph.
type functionIndex struct {
	known map[string]*profiles.Function
	rows  []functionRow
	ids   map[string]int // indices in rows, by name
}

func newFunctionIndex(functions []profiles.Function) *functionIndex {
	x := &functionIndex{known: map[string]*profiles.Function{}, rows: []functionRow{},
		ids: map[string]int{}}
	for i := range functions {
		x.known[functions[i].Name] = &functions[i]
	}
	return x
}

func (x *functionIndex) index(name string) int {
	id, ok := x.ids[name]
	if !ok {
		id = len(x.rows)
		x.ids[name] = id
		f := x.known[name]
		if f == nil { // the root of a tree
			f = &profiles.Function{Name: name}
		}
		x.rows = append(x.rows, newFunctionRow(f))
	}
	return id
}

// functionNamed returns the full name of a function by its shown name, which may be shortened. Of
// several such functions, functionNamed returns the one with the most time in itself.
func functionNamed(functions []profiles.Function, name string) (string, error) {
	isNamed := func(f profiles.Function) bool { return Shown(f.Name) == name }
	i := slices.IndexFunc(functions, isNamed)
	if i < 0 {
		return "", fmt.Errorf("function %s: this profile has no such function",
			cmp.Or(Shown(name), `""`))
	}
	return functions[i].Name, nil
}

// kind returns the owner of a function's code: see functionRow.
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
		return "dep" // the module is unknown, as in the binary of a test
	}
}
