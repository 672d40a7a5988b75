package sampling

import (
	"strings"

	"github.com/perfline/perfline/profiling/profile"
)

// WithoutPreemption removes the runtime's frames of an asynchronous preemption from the innermost
// end of stack. The preempted function is then the innermost function. WithoutPreemption changes
// the elements of stack.
func WithoutPreemption(stack []*profile.Call) []*profile.Call {
	for i, c := range stack {
		if c.Name == "runtime.asyncPreempt" {
			return stack[:copy(stack, stack[i+1:])]
		}
		if !strings.HasPrefix(c.Name, "runtime.") {
			break
		}
	}
	return stack
}

// Classify returns the kind of work that a goroutine with the given stack does. The first element
// of stack is the innermost frame.
//
//   - Idle: the goroutine is parked, for example to wait for a channel.
//   - GC: a frame belongs to the garbage collector. The goroutine may be a goroutine of the program
//     that assists the collector.
//   - Other: the stack is empty, a frame is not Go code, or all frames belong to the runtime.
//   - Syscall: the goroutine is in a system call, or enters or leaves a system call.
//   - Ordinary: all other goroutines.
func Classify(stack []*profile.Call) profile.Marker {
	if len(stack) == 0 {
		return profile.Other
	}
	if stack[0].Name == "runtime.gopark" {
		return profile.Idle
	}
	called := "" // the innermost function outside the runtime
	user := false
	for _, s := range stack {
		name, ofRuntime := strings.CutPrefix(s.Name, "runtime.")
		switch {
		case ofRuntime && collects(name):
			return profile.GC
		case ofRuntime && foreign(name):
			return profile.Other
		case ofRuntime:
			continue
		case called == "":
			called = s.Name
		}
		// The runtime itself uses packages under internal. Other users of them have a caller.
		user = user || !strings.HasPrefix(s.Name, "internal/")
	}
	switch {
	case !user:
		return profile.Other
	case entersKernel(called):
		return profile.Syscall
	}
	return profile.Ordinary
}

// collects reports whether a function of the runtime, or a function literal in it, does the
// collector's work: marking, sweeping and returning memory.
func collects(name string) bool {
	name, _, _ = strings.Cut(name, ".") // the literals in f are f.func1, f.func2 …
	switch name {
	case "gcBgMarkWorker", "bgsweep", "bgscavenge", "gcStart", "gcMarkDone", "gcMarkTermination",
		"deductSweepCredit", "_GC":
		return true
	}
	return strings.HasPrefix(name, "gcAssistAlloc")
}

// foreign reports whether a function of the runtime stands, in a CPU profile, for code with an
// unknown stack.
func foreign(name string) bool {
	switch name {
	case "_System", "_ExternalCode", "_VDSO":
		return true
	}
	return false
}

// entersKernel reports whether a function makes system calls.
func entersKernel(name string) bool {
	if strings.HasPrefix(name, "internal/runtime/syscall") {
		return true
	}
	name, ok := strings.CutPrefix(name, "syscall.")
	return ok && (strings.HasPrefix(name, "Syscall") || strings.HasPrefix(name, "RawSyscall") ||
		strings.HasPrefix(name, "syscall") || strings.HasPrefix(name, "rawSyscall") ||
		strings.HasPrefix(name, "rawVfork"))
}
