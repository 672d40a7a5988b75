//go:build !go1.26 || go1.27 || perfline_portable

package sampling

import (
	"runtime"
	"time"
)

var began = time.Now()

// Now is a monotonic clock in nanoseconds.
func Now() int64 { return int64(time.Since(began)) }

// startLine is known for functions that were not inlined.
func startLine(f *runtime.Frame) int {
	if f.Func == nil {
		return 0
	}
	_, line := f.Func.FileLine(f.Entry)
	return line
}

func symbolName(f *runtime.Frame) string { return f.Function }
