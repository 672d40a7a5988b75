package sampling

import (
	"io"
	"runtime/pprof"
	"time"
)

// A CPUProfiler controls the CPU profiler of a process. A process has only one CPU profiler.
// Engines and other code share the CPU profiler, because runtime/pprof records no owner.
type CPUProfiler interface {
	Start(w io.Writer) error // as pprof.StartCPUProfile
	Stop()                   // as pprof.StopCPUProfile
	// Stopper checks whether any goroutine is stopping the profile. called is true if a goroutine
	// executes Stop. waits is true if a goroutine in Stop waits for the reader of the profile.
	Stopper() (called, waits bool)
}

// A Process controls the CPU profiler of this process, through package runtime/pprof.
type Process struct{}

var _ CPUProfiler = Process{}

// Start calls pprof.StartCPUProfile: w receives the profile at the end.
func (Process) Start(w io.Writer) error { return pprof.StartCPUProfile(w) }

// Stop calls pprof.StopCPUProfile: the current profile ends.
func (Process) Stop() { pprof.StopCPUProfile() }

// Stopped reports whether a call of StopCPUProfile ended the current profile. Call Stopped only
// while the sampling rate is 0. During the call, the caller must block the reader of the profile.
// If Stopped returns false, other code only set the rate to 0. For runtime/pprof, the profile then
// still runs.
//
// StopCPUProfile does not return while the reader is blocked. Therefore Stopped finds the call on
// the stack of a goroutine. If a call of StopCPUProfile waits for the lock of runtime/pprof, the
// effect of the call is unknown. Stopped then waits until the effect is known.
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

// Stopping reports whether a goroutine executes StopCPUProfile. If Stopping returns true, do not
// call StartCPUProfile. StartCPUProfile would block until StopCPUProfile returns. StartCPUProfile
// would then occupy the CPU profiler between two profiles of another agent.
func Stopping(p CPUProfiler) bool {
	called, _ := p.Stopper()
	return called
}

// StopWaits reports whether a goroutine in StopCPUProfile waits until the reader of the profile has
// ended.
func StopWaits(p CPUProfiler) bool {
	_, waits := p.Stopper()
	return waits
}
