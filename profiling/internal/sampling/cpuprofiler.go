package sampling

import (
	"io"
	"runtime/pprof"
	"time"
)

// A CPUProfiler is the CPU profiler of a process, which has no owner: engines share it with other
// code.
type CPUProfiler interface {
	Start(w io.Writer) error // as pprof.StartCPUProfile
	Stop()                   // as pprof.StopCPUProfile
	// Stopper reports whether a goroutine is in Stop, and whether one waits there for the profile's
	// reader.
	Stopper() (called, waits bool)
}

// Process is the CPUProfiler of this process.
type Process struct{}

var _ CPUProfiler = Process{}

// Start implements [CPUProfiler].
func (Process) Start(w io.Writer) error { return pprof.StartCPUProfile(w) }

// Stop implements [CPUProfiler].
func (Process) Stop() { pprof.StopCPUProfile() }

// Stopped reports whether a StopCPUProfile ended a profile whose rate is 0 and whose reader the
// caller holds. False means that only the rate was set to 0: runtime/pprof takes the profile for
// running.
//
// A StopCPUProfile does not return while the reader is held, so the stacks of all goroutines show
// it. One that waits for runtime/pprof's lock is neither yet: Stopped waits for it.
func Stopped(p CPUProfiler) bool {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 2*time.Millisecond) {
		switch called, waits := p.Stopper(); {
		case waits:
			return true
		case !called:
			return false
		}
		time.Sleep(wait)
	}
}

// Stopping reports whether other code is in StopCPUProfile. A StartCPUProfile would wait until that
// has returned, and then take the CPU profiler from an agent that ends one profile to begin the
// next.
func Stopping(p CPUProfiler) bool {
	called, _ := p.Stopper()
	return called
}

// StopWaits reports whether a StopCPUProfile waits for its profile's reader to end.
func StopWaits(p CPUProfiler) bool {
	_, waits := p.Stopper()
	return waits
}
