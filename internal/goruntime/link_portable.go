//go:build perfline_portable

package goruntime

import (
	"runtime"
	"time"
	"unsafe"
)

const portable = true

// ReadProfile returns eof: this build cannot read the log.
func ReadProfile() (data []uint64, labels []unsafe.Pointer, eof bool) { return nil, nil, true }

// ExpandFinalInlineFrame returns stack.
func ExpandFinalInlineFrame(stack []uintptr) []uintptr { return stack }

// FrameName returns f.Function.
func FrameName(f *runtime.Frame) string { return f.Function }

// FrameStartLine returns the first line of f's function, or 0 if f was inlined.
func FrameStartLine(f *runtime.Frame) int {
	if f.Func == nil {
		return 0
	}
	_, line := f.Func.FileLine(f.Entry)
	return line
}

var start = time.Now()

// Nanotime reads a monotonic clock in nanoseconds.
func Nanotime() int64 { return int64(time.Since(start)) }
