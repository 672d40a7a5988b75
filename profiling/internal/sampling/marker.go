package sampling

import (
	"strings"

	"github.com/perfline/perfline/profiling/profile"
)

// Classify says what kind of work a stack is, innermost frame first.
//
//   - Idle: it is parked.
//   - GC: a frame is the collector's, be it that a goroutine helps it.
//   - Other: nothing is known, a frame is not Go's, or all are the runtime's.
//   - Syscall: it is in a system call, or on the way in or out.
//   - Ordinary: everything else.
func Classify(stack []*profile.Call) profile.Marker {
	if len(stack) == 0 {
		return profile.Other
	}
	if stack[0].Name == "runtime.gopark" {
		return profile.Idle
	}
	called := "" // the innermost function that is not the runtime's
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
		// The runtime itself uses packages under internal, and who else does has a caller.
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

// collects reports whether a function of the runtime, or one within it, does the collector's work:
// marking, sweeping and giving memory back.
func collects(name string) bool {
	name, _, _ = strings.Cut(name, ".") // the literals in f are f.func1, f.func2 …
	switch name {
	case "gcBgMarkWorker", "bgsweep", "bgscavenge", "gcStart", "gcMarkDone", "gcMarkTermination",
		"deductSweepCredit", "_GC":
		return true
	}
	return strings.HasPrefix(name, "gcAssistAlloc")
}

// foreign reports whether a function of the runtime is one that stands, in a CPU profile, for code
// whose stack could not be told.
func foreign(name string) bool {
	switch name {
	case "_System", "_ExternalCode", "_VDSO":
		return true
	}
	return false
}

// entersKernel reports whether a function is one of the few that make system calls.
func entersKernel(name string) bool {
	if strings.HasPrefix(name, "internal/runtime/syscall") {
		return true
	}
	name, ok := strings.CutPrefix(name, "syscall.")
	return ok && (strings.HasPrefix(name, "Syscall") || strings.HasPrefix(name, "RawSyscall") ||
		strings.HasPrefix(name, "syscall") || strings.HasPrefix(name, "rawSyscall") ||
		strings.HasPrefix(name, "rawVfork"))
}
