//go:build perfline_portable

package goruntime

import (
	"runtime"
	"time"
	"unsafe"
)

const portable = true

// ReadProfile returns no record, and true for eof. This build cannot read the log of the CPU
// profiler.
func ReadProfile() (data []uint64, labels []unsafe.Pointer, eof bool) { return nil, nil, true }

// ExpandFinalInlineFrame returns stack without a change.
func ExpandFinalInlineFrame(stack []uintptr) []uintptr { return stack }

// FrameName returns f.Function.
func FrameName(f *runtime.Frame) string { return f.Function }

// FrameStartLine returns the first line of the function of f, or 0 if f was inlined.
func FrameStartLine(f *runtime.Frame) int {
	if f.Func == nil {
		return 0
	}
	_, line := f.Func.FileLine(f.Entry)
	return line
}

var start = time.Now()

// Nanotime returns the time of a monotonic clock in nanoseconds.
func Nanotime() int64 { return int64(time.Since(start)) }
