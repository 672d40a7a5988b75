package sampling

import (
	"io"
	"runtime/pprof"
	"time"
)

// A CPUProfiler is the CPU profiler of a process. It has no owner: engines share it with other
// code.
type CPUProfiler interface {
	Start(w io.Writer) error // as pprof.StartCPUProfile
	Stop()                   // as pprof.StopCPUProfile
	// Stopper reports whether a goroutine is in Stop, and whether one waits in Stop for the
	// profile's reader.
	Stopper() (called, waits bool)
}

// Process is the CPUProfiler of this process.
type Process struct{}

var _ CPUProfiler = Process{}

// Start implements [CPUProfiler].
func (Process) Start(w io.Writer) error { return pprof.StartCPUProfile(w) }

// Stop implements [CPUProfiler].
func (Process) Stop() { pprof.StopCPUProfile() }

// Stopped reports whether StopCPUProfile ended a profile whose rate is 0 and whose reader the
// caller blocks. False means that only the rate was set to 0: for runtime/pprof the profile still
// runs.
//
// StopCPUProfile does not return while the reader is blocked, so the stacks of all goroutines show
// the call. Stopped waits while a call waits for runtime/pprof's lock, because its effect is
// unknown.
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

// Stopping reports whether other code is in StopCPUProfile. Then StartCPUProfile would wait for the
// return, and take the CPU profiler from an agent that ends one profile to begin the next.
func Stopping(p CPUProfiler) bool {
	called, _ := p.Stopper()
	return called
}

// StopWaits reports whether a StopCPUProfile waits for its profile's reader to end.
func StopWaits(p CPUProfiler) bool {
	_, waits := p.Stopper()
	return waits
}
