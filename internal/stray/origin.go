package stray

import (
	"cmp"
	"runtime"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/waiting"
)

// frames caches the functions of return addresses.
type frames struct{ grownMap[uintptr, frame] }

const maxFrames = 1024 // return addresses in the cache

// A frame is a function on a stack.
type frame struct {
	function, pkg string
	owner         owner
}

// An owner is the code that contains a function.
type owner uint8

const (
	instrumentation owner = iota // or the standard library
	library
	program // the main module
)

// Most stacks have a function of the program among the first frames.
const (
	nearFrames = 24
	allFrames  = 256
)

// origin returns the function that began the span of a scope: see the package's documentation. The
// result is "" if the stack has no name.
func (f *frames) origin(scope string) string {
	const skip = 3 // runtime.Callers, origin and Note
	var stack [nearFrames]uintptr
	n := runtime.Callers(skip, stack[:])
	function, owner := f.innermost(stack[:n], scope)
	if owner != program && n == len(stack) {
		function = f.originInAll(scope)
	}
	return function
}

// originInAll is origin for a deep stack.
//
//go:noinline
func (f *frames) originInAll(scope string) string {
	const skip = 4
	var stack [allFrames]uintptr
	function, _ := f.innermost(stack[:runtime.Callers(skip, stack[:])], scope)
	return function
}

// innermost returns the function of a stack that began the span, and the function's owner.
func (f *frames) innermost(stack []uintptr, scope string) (function string, of owner) {
	outermost := ""
	for _, pc := range stack {
		at := f.at(pc)
		switch {
		case at.owner == program:
			return at.function, program
		case at.owner == library && of != library && !modules.Within(at.pkg, scope):
			function, of = at.function, library
		case at.pkg != "runtime":
			outermost = cmp.Or(at.function, outermost)
		}
	}
	return cmp.Or(function, outermost), of
}

// at returns the frame of a return address.
func (f *frames) at(pc uintptr) frame {
	at, known := f.get(pc)
	if !known {
		at, _ = f.add(pc, resolve(pc), maxFrames)
	}
	return at
}

func resolve(pc uintptr) frame {
	at, _ := runtime.CallersFrames([]uintptr{pc}).Next() // each inlined call has its own address
	return newFrame(at.Function)
}

func newFrame(function string) frame {
	f := frame{function: function, pkg: modules.Package(function)}
	switch {
	case waiting.Standard(function): // also perfline
		f.owner = instrumentation
	case modules.Read().Of(function).Kind == modules.Main:
		f.owner = program
	default:
		f.owner = library
	}
	return f
}
