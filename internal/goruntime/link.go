//go:build !perfline_portable

package goruntime

import (
	"runtime"
	"unsafe"
)

const portable = false

// ReadProfile returns the next records of the CPU profiler's log, and a label pointer for each
// record. Both slices are valid until the next call. eof is true when the rate is 0 and the log is
// empty. Only the owner of the CPU profiler may call ReadProfile. Two readers corrupt the log, and
// runtime/pprof panics.
//
// On Linux, a call on an empty log blocks until the log is half full. On macOS, a call never
// blocks.
//
//go:linkname ReadProfile runtime/pprof.readProfile
func ReadProfile() (data []uint64, labels []unsafe.Pointer, eof bool)

// ExpandFinalInlineFrame appends the callers into which the last frame of stack was inlined. The
// result is the extended stack.
//
//go:linkname ExpandFinalInlineFrame runtime/pprof.runtime_expandFinalInlineFrame
func ExpandFinalInlineFrame(stack []uintptr) []uintptr

// FrameName returns the name of the function of f, as in the profiles of runtime/pprof. The name
// contains the shapes of type arguments. f.Function contains dots instead of the shapes.
//
//go:linkname FrameName runtime/pprof.runtime_FrameSymbolName
//go:noescape
func FrameName(f *runtime.Frame) string

// FrameStartLine returns the first line of the function of f, or 0 if the line is unknown.
//
//go:linkname FrameStartLine runtime/pprof.runtime_FrameStartLine
//go:noescape
func FrameStartLine(f *runtime.Frame) int

// Nanotime returns the time of the runtime's monotonic clock in nanoseconds. The CPU profiler's log
// uses the same clock.
//
//go:linkname Nanotime runtime.nanotime
func Nanotime() int64
