package wall

import (
	"strings"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// classify says what kind of work a stack is, innermost call first.
func classify(stack []*sampling.Symbol) sampling.Marker {
	if len(stack) == 0 {
		return sampling.Other
	}
	ordinary := false
	for _, f := range stack {
		if strings.HasPrefix(f.Name, "runtime.gcBgMarkWorker") {
			return sampling.GC
		}
		ordinary = ordinary || f.Package() != "runtime"
	}
	switch innermost := stack[0]; {
	case innermost.Package() == "syscall" || innermost.Package() == "internal/runtime/syscall":
		return sampling.Syscall
	case innermost.Name == "runtime.gopark":
		return sampling.Idle
	case !ordinary:
		return sampling.Other
	}
	return sampling.Running
}
