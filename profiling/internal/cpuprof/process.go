//go:build linux || darwin

package cpuprof

import (
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

// A profiler is the CPU profiler with its log, and with the signals that add records to the log.
type profiler interface {
	sampling.CPUProfiler
	SetRate(hz int)                                         // as runtime.SetCPUProfileRate
	Read() (data []uint64, tags []unsafe.Pointer, eof bool) // as goruntime.ReadProfile
	Nudge() error                                           // as nudge
	Signal() error                                          // sends SIGPROF to any thread
	Writing() string                                        // the caller of a profile's writer
}

// process is the profiler of this process.
type process struct{ sampling.Process }

var _ profiler = process{}

func (process) SetRate(hz int)                           { runtime.SetCPUProfileRate(hz) }
func (process) Read() ([]uint64, []unsafe.Pointer, bool) { return goruntime.ReadProfile() }
func (process) Nudge() error                             { return nudge() }
func (process) Signal() error {
	return syscall.Kill(syscall.Getpid(), syscall.SIGPROF)
}

// Writing returns the name of the function of runtime/pprof that writes a profile on the calling
// goroutine. If the profile is written after the end of the log, this name is the constant
// afterEOF. Otherwise Writing returns the innermost function of runtime/pprof on the stack, or
// "another function".
func (process) Writing() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	first := "another function"
	for {
		f, more := frames.Next()
		switch {
		case f.Function == afterEOF:
			return afterEOF
		case first == "another function" && strings.HasPrefix(f.Function, "runtime/pprof."):
			first = f.Function
		}
		if !more {
			return first
		}
	}
}
