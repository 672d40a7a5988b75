package waiting

import (
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
// instrumentation or to perfline, or lacks a name. A request that waits in errgroup.(*Group).Wait,
// or in the instrumentation of a client, waits in the caller.
func Standard(function string) bool {
	if function == "" {
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

func isWithin(pkg string, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return modules.Within(pkg, path) })
}

// Function returns the innermost function of the program's main module in the interval's stack, or
// else the innermost function outside the standard library, or else the goroutine's first function.
// Function returns "" without a stack.
func Function(i *waits.Interval) string {
	innermost := ""
	for _, f := range i.Stack {
		switch {
		case Standard(f.Function):
		case modules.Read().IsMain(f.Function):
			return f.Function
		case innermost == "":
			innermost = f.Function
		}
	}
	if n := len(i.Stack); n > 0 && innermost == "" {
		return i.Stack[n-1].Function
	}
	return innermost
}
