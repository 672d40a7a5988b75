//go:build !perfline_portable

package goruntime

import (
	"runtime"
	"unsafe"
)

const portable = false

// ReadProfile returns the next records of the CPU profiler's log, and a label pointer for each
// record. Both slices are valid until the next call. ReadProfile returns eof when the rate is 0 and
// the log is empty. On Linux, a call on an empty log sleeps until the log is half full; on macOS, a
// call never sleeps. Only the owner of the CPU profiler may call ReadProfile: two readers corrupt
// the log, and runtime/pprof panics.
//
//go:linkname ReadProfile runtime/pprof.readProfile
func ReadProfile() (data []uint64, labels []unsafe.Pointer, eof bool)

// ExpandFinalInlineFrame returns stack, and after its last frame the callers into which that frame
// was inlined.
//
//go:linkname ExpandFinalInlineFrame runtime/pprof.runtime_expandFinalInlineFrame
func ExpandFinalInlineFrame(stack []uintptr) []uintptr

// FrameName returns the name of f's function as in the profiles of runtime/pprof: with the shapes
// of type arguments, where f.Function has dots.
//
//go:linkname FrameName runtime/pprof.runtime_FrameSymbolName
//go:noescape
func FrameName(f *runtime.Frame) string

// FrameStartLine returns the first line of f's function, or 0 if the line is unknown.
//
//go:linkname FrameStartLine runtime/pprof.runtime_FrameStartLine
//go:noescape
func FrameStartLine(f *runtime.Frame) int

// Nanotime reads the runtime's monotonic clock in nanoseconds. The times in the CPU profiler's log
// are readings of this clock.
//
//go:linkname Nanotime runtime.nanotime
func Nanotime() int64
