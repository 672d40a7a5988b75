package sampling

import (
	"runtime"
	"strings"
)

// Stopper checks whether any goroutine is stopping the CPU profile. called is true if a goroutine
// executes StopCPUProfile. waits is true if such a goroutine waits for the reader of the profile.
// Stopper reads the stacks of all goroutines. A call therefore takes longer with more goroutines.
// Stopper stops the world for some microseconds.
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
