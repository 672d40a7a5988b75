package waiting

import (
	"strings"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/waits"
)

// standardPaths are further import paths that [Standard] accepts, with the packages below.
var standardPaths = []string{
	"golang.org/x",
	"go.opentelemetry.io",
	"github.com/perfline/perfline/bridge",
	"github.com/perfline/perfline/internal/record",
	"github.com/perfline/perfline/internal/tracelog",
	"github.com/perfline/perfline/marks",
	"github.com/perfline/perfline/observer",
}

// Standard reports whether the time of a function counts for the caller. For example, a request
// that waits in errgroup.(*Group).Wait waits in the caller. Standard returns true for an empty
// name, and for functions of:
//
//   - the standard library
//   - golang.org/x
//   - OpenTelemetry
//   - perfline's instrumentation
func Standard(function string) bool {
	if function == "" {
		return true
	}
	// A generic function has import paths in its type arguments.
	function, _, _ = strings.Cut(function, "[")
	for _, path := range standardPaths {
		rest, ok := strings.CutPrefix(function, path)
		if ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/")) {
			return true
		}
	}
	first, _, nested := strings.Cut(function, "/")
	if !nested {
		first, _, _ = strings.Cut(function, ".")
	}
	return modules.IsStandard(first)
}

// Function returns the function that best describes an interval: the innermost function of the
// stack that is not [Standard]. If all functions are Standard, the result is the goroutine's first
// function. Without a stack, the result is "".
func Function(i *waits.Interval) string {
	for _, f := range i.Stack {
		if !Standard(f.Function) {
			return f.Function
		}
	}
	if n := len(i.Stack); n > 0 {
		return i.Stack[n-1].Function
	}
	return ""
}
