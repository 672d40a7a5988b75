package waiting

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/waits"
)

// standardPaths are further import paths that [Standard] accepts, with the packages below.
var standardPaths = []string{
	"github.com/XSAM/otelsql",
	"go.opentelemetry.io",
	"golang.org/x",
}

// perfline is the import path of this module. The folders in programs have programs of the module.
const perfline = "github.com/perfline/perfline"

var programs = []string{
	perfline + "/examples", perfline + "/integration", perfline + "/lab", perfline + "/tools",
}

// Standard reports whether a function belongs to the standard library, to golang.org/x, to
// instrumentation or to perfline, is cgo's, or lacks a name. A request that waits in
// errgroup.(*Group).Wait, or in the instrumentation of a client, waits in the caller.
func Standard(function string) bool {
	if function == "" || IsCgo(function) {
		return true
	}
	pkg := modules.Package(function)
	return modules.IsStandard(pkg) || isPerfline(pkg) || isWithin(pkg, standardPaths)
}

// Perfline reports whether a function belongs to perfline.
func Perfline(function string) bool { return isPerfline(modules.Package(function)) }

func isPerfline(pkg string) bool {
	return modules.Within(pkg, perfline) && !strings.HasSuffix(pkg, "_test") &&
		!isWithin(pkg, programs)
}

func isWithin(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return modules.Within(pkg, f) })
}

// IsCgo reports whether a function is cgo's Go function that calls a C function, such as
// store._Cfunc_sqlite3_step. While the C function runs, cgo's function is the innermost of a stack.
func IsCgo(function string) bool {
	name := localName(function)
	return strings.HasPrefix(name, "_Cfunc_") || strings.HasPrefix(name, "_C2func_")
}

// localName returns the name of a function without the package.
func localName(function string) string {
	_, name, _ := strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".")
	return name
}

// IsUnnamed reports whether a function is a function literal of a package variable, or a literal
// inside such a literal. The runtime's names of these literals, such as stream.init.func2, name
// nothing of the program.
func IsUnnamed(function string) bool {
	number, ok := strings.CutPrefix(localName(function), "init.func")
	return ok && strings.IndexFunc(number, func(r rune) bool {
		return r != '.' && (r < '0' || r > '9')
	}) < 0
}

// Name returns the name of the frame's function. The file and the line follow the name of a
// function literal that [IsUnnamed] reports.
func Name(f *waits.Frame) string {
	if !IsUnnamed(f.Function) {
		return f.Function
	}
	return fmt.Sprintf("%s (%s:%d)", f.Function, path.Base(f.File), f.Line)
}

// Function returns the innermost function of the program's main module in the interval's stack, or
// else the innermost function outside the standard library, or else the goroutine's first function.
// Functions that [IsUnnamed] does not report precede the others of the main module. Function
// returns "" without a stack.
func Function(i *waits.Interval) string {
	unnamed, innermost := "", ""
	for n := range i.Stack {
		f := &i.Stack[n]
		switch {
		case Standard(f.Function):
		case !modules.Read().IsMain(f.Function):
			innermost = cmp.Or(innermost, Name(f))
		case !IsUnnamed(f.Function):
			return f.Function
		default:
			unnamed = cmp.Or(unnamed, Name(f))
		}
	}
	if n := len(i.Stack); n > 0 && unnamed == "" && innermost == "" {
		return i.Stack[n-1].Function
	}
	return cmp.Or(unnamed, innermost)
}
