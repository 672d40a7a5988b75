package sampling

import (
	"runtime"
	"strings"
	"time"
)

// Stopped reports whether a StopCPUProfile ended a profile whose rate is 0 and whose reader
// the caller holds. False means that only the rate was set to 0: runtime/pprof takes the
// profile for running.
//
// A StopCPUProfile does not return while the reader is held, so the stacks of all goroutines
// show it. One that waits for runtime/pprof's lock is neither yet: Stopped waits for it.
func Stopped() bool {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 2*time.Millisecond) {
		switch called, waits := stopper(); {
		case waits:
			return true
		case !called:
			return false
		}
		time.Sleep(wait)
	}
}

// Stopping reports whether other code is in StopCPUProfile. A StartCPUProfile would wait until that has returned, and
// then take the CPU profiler from an agent that ends one profile to begin the next.
func Stopping() bool {
	called, _ := stopper()
	return called
}

// StopWaits reports whether a StopCPUProfile waits for its profile's reader to end.
func StopWaits() bool {
	_, waits := stopper()
	return waits
}

// stopper reports whether a goroutine is in pprof.StopCPUProfile, and whether one waits there
// for the profile's reader. It takes time in proportion to the number of goroutines, and stops
// the world for some microseconds.
func stopper() (called, waits bool) {
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
