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

// A profiler is the CPU profiler as the engine needs it: with its log, and the signals that make
// records of the log.
type profiler interface {
	sampling.CPUProfiler
	SetRate(hz int) // as runtime.SetCPUProfileRate
	// Read returns what goruntime.ReadProfile does.
	Read() (data []uint64, tags []unsafe.Pointer, eof bool)
	// Nudge is nudge, and Signal sends SIGPROF to the process, for any thread to handle.
	Nudge() error
	Signal() error
	// Writing returns which function of runtime/pprof is calling the Write of a profile's writer.
	Writing() string
}

// process is the profiler of this process.
type process struct{ sampling.Process }

var _ profiler = process{}

func (process) SetRate(hz int)                           { runtime.SetCPUProfileRate(hz) }
func (process) Read() ([]uint64, []unsafe.Pointer, bool) { return goruntime.ReadProfile() }
func (process) Nudge() error                             { return nudge() }
func (process) Signal() error {
	return syscall.Kill(syscall.Getpid(),
		syscall.SIGPROF)
}

// Writing returns afterEOF if that is on the stack, else the innermost function of runtime/pprof.
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
