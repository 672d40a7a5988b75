package repository_test

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// What a program gives to perfline is code that perfline calls: functions, and the methods of values. testdata/given.txt lists all that the API takes.
// The test of package perfline that lets each of these fail has a row for each line.
func TestGivenDocumented(t *testing.T) {
	atRoot(t)
	given := map[string]bool{}
	for _, p := range publishedPackages(t) {
		for _, name := range p.Scope().Names() {
			if ast.IsExported(name) {
				g := gathering{given}
				g.object(p.Scope().Lookup(name))
			}
		}
	}
	documented(t, "internal/repository/testdata/given.txt", "", strings.Join(slices.Sorted(maps.Keys(given)), "\n"))
}

type gathering struct{ given map[string]bool }

func (g gathering) object(o types.Object) {
	switch o := o.(type) {
	case *types.Func:
		g.params(fmt.Sprintf("%s.%s", brief(o.Pkg()), o.Name()), o.Signature())
	case *types.TypeName:
		if o.IsAlias() {
			return
		}
		name := types.TypeString(o.Type(), brief)
		if s, ok := o.Type().Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				if f.Exported() {
					g.value(name+"."+f.Name(), f.Type())
				}
			}
		}
		if _, ok := o.Type().Underlying().(*types.Interface); ok {
			return // methods of the program's
		}
		for m := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
			if m.Obj().Exported() {
				g.params(name+"."+m.Obj().Name(), m.Type().(*types.Signature))
			}
		}
	}
}

func (g gathering) params(name string, s *types.Signature) {
	for p := range s.Params().Variables() {
		g.value(name+" "+p.Name(), p.Type())
	}
}

// value notes what a value of a type makes perfline call.
func (g gathering) value(name string, t types.Type) {
	switch u := t.Underlying().(type) {
	case *types.Signature:
		g.given[name] = true
	case *types.Slice:
		g.value(name, u.Elem())
	case *types.Map:
		g.value(name, u.Elem())
	case *types.Interface:
		for m := range u.Methods() {
			if !m.Exported() && strings.HasPrefix(m.Pkg().Path()+"/", module+"/") {
				return // only its package implements it; OpenTelemetry's interfaces are implemented by embedding
			}
		}
		for m := range u.Methods() {
			if m.Exported() {
				g.given[types.TypeString(t, brief)+"."+m.Name()] = true
			}
		}
	}
}
