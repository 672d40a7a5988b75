//go:build perfline_portable

package goruntime

import (
	"runtime"
	"time"
	"unsafe"
)

const portable = true

// ReadProfile returns eof: the log cannot be read in this build.
func ReadProfile() (data []uint64, labels []unsafe.Pointer, eof bool) { return nil, nil, true }

// ExpandFinalInlineFrame returns stack.
func ExpandFinalInlineFrame(stack []uintptr) []uintptr { return stack }

// FrameName is f.Function.
func FrameName(f *runtime.Frame) string { return f.Function }

// FrameStartLine is the line where f's function begins, or 0 if f was inlined.
func FrameStartLine(f *runtime.Frame) int {
	if f.Func == nil {
		return 0
	}
	_, line := f.Func.FileLine(f.Entry)
	return line
}

var start = time.Now()

// Nanotime is a monotonic clock in nanoseconds.
func Nanotime() int64 { return int64(time.Since(start)) }
