package sampling

import (
	"runtime"
	"strings"
)

// Stopper implements [CPUProfiler]. called reports whether a goroutine executes StopCPUProfile.
// waits reports whether such a goroutine waits for the reader of the profile. Stopper reads the
// stacks of all goroutines, so the duration grows with the number of goroutines. Stopper stops the
// world for some microseconds.
func (Process) Stopper() (called, waits bool) {
	var stacks []runtime.StackRecord
	for n, ok := runtime.GoroutineProfile(nil); !ok; {
		stacks = make([]runtime.StackRecord, n+50)
		n, ok = runtime.GoroutineProfile(stacks)
		stacks = stacks[:min(n, len(stacks))]
	}
	for i := range stacks {
		frames := runtime.CallersFrames(stacks[i].Stack())
		for inner, more := "", true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Function == "runtime/pprof.StopCPUProfile" {
				called = true
				waits = waits || strings.HasPrefix(inner, "runtime.chanrecv")
			}
			inner = f.Function
		}
	}
	return called, waits
}
