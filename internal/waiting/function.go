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

// Standard reports whether a function belongs to the standard library, to golang.org/x, to
// OpenTelemetry or to perfline, or lacks a name. A request that waits in errgroup.(*Group).Wait, or
// in the instrumentation of a client, waits in the caller.
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

// Function returns the innermost function outside the standard library in the interval's stack, or
// else the goroutine's first function, or "" without a stack.
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
