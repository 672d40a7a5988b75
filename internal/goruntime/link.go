//go:build !perfline_portable

package goruntime

import (
	"runtime"
	"unsafe"
)

const portable = false

// ReadProfile returns the next records of the CPU profiler's log and one label pointer
// for each. Both are valid until the next call. It returns eof when the rate is 0 and
// nothing is left. On Linux it sleeps until the log is half full if the log is empty; on
// macOS it never sleeps. Only the owner of the CPU profiler may call it: two readers
// corrupt the log, and runtime/pprof panics.
func ReadProfile() (data []uint64, labels []unsafe.Pointer, eof bool) { return readProfile() }

//go:linkname readProfile runtime/pprof.readProfile
func readProfile() (data []uint64, labels []unsafe.Pointer, eof bool)

// ExpandFinalInlineFrame returns stack with the callers into which its last frame was
// inlined.
func ExpandFinalInlineFrame(stack []uintptr) []uintptr { return expandFinalInlineFrame(stack) }

//go:linkname expandFinalInlineFrame runtime/pprof.runtime_expandFinalInlineFrame
func expandFinalInlineFrame(stack []uintptr) []uintptr

// FrameName is the name of f's function as profiles of runtime/pprof have it: with the
// shapes of type arguments, where f.Function has dots.
func FrameName(f *runtime.Frame) string { return frameSymbolName(f) }

//go:linkname frameSymbolName runtime/pprof.runtime_FrameSymbolName
//go:noescape
func frameSymbolName(f *runtime.Frame) string

// FrameStartLine is the line where f's function begins, or 0 if that is unknown.
func FrameStartLine(f *runtime.Frame) int { return frameStartLine(f) }

//go:linkname frameStartLine runtime/pprof.runtime_FrameStartLine
//go:noescape
func frameStartLine(f *runtime.Frame) int

// Nanotime is the runtime's monotonic clock in nanoseconds. The CPU profiler's log has its
// times.
func Nanotime() int64 { return nanotime() }

//go:linkname nanotime runtime.nanotime
func nanotime() int64
