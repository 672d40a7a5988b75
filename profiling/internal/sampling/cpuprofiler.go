package sampling

import (
	"io"
	"runtime/pprof"
	"time"
)

// A CPUProfiler is the CPU profiler of a process. Engines and other code share the CPU profiler,
// because runtime/pprof records no owner.
type CPUProfiler interface {
	Start(w io.Writer) error // as pprof.StartCPUProfile
	Stop()                   // as pprof.StopCPUProfile
	// Stopper reports whether a goroutine executes Stop. waits reports whether a goroutine in Stop
	// waits for the reader of the profile.
	Stopper() (called, waits bool)
}

// Process implements [CPUProfiler] for this process.
type Process struct{}

var _ CPUProfiler = Process{}

// Start implements [CPUProfiler].
func (Process) Start(w io.Writer) error { return pprof.StartCPUProfile(w) }

// Stop implements [CPUProfiler].
func (Process) Stop() { pprof.StopCPUProfile() }

// Stopped reports whether StopCPUProfile ended the current profile. The rate of the profile must be
// 0, and the caller must block the reader of the profile. If Stopped returns false, other code only
// set the rate to 0. For runtime/pprof, the profile then still runs.
//
// StopCPUProfile does not return while the reader is blocked. Therefore the stacks of all
// goroutines show the call. Stopped waits while a call waits for the lock of runtime/pprof, because
// the effect of the call is unknown.
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

// Stopping reports whether other code executes StopCPUProfile. If Stopping returns true, do not
// call StartCPUProfile. The call would block until StopCPUProfile returns. The call would then
// occupy the CPU profiler between two profiles of another agent.
func Stopping(p CPUProfiler) bool {
	called, _ := p.Stopper()
	return called
}

// StopWaits reports whether a StopCPUProfile waits for the end of the reader of the profile.
func StopWaits(p CPUProfiler) bool {
	_, waits := p.Stopper()
	return waits
}
