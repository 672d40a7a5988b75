//go:build go1.26 && !go1.27 && !perfline_portable

package sampling

import (
	"runtime"
	_ "unsafe" // for linkname
)

// Now is the runtime's monotonic clock in nanoseconds, by which it stamps samples.
func Now() int64 { return nanotime() }

//go:linkname nanotime runtime.nanotime
func nanotime() int64

// symbolName is the function's name as profiles of runtime/pprof have it: with the
// shapes of type arguments, where f.Function has dots.
//
//go:linkname symbolName runtime/pprof.runtime_FrameSymbolName
//go:noescape
func symbolName(f *runtime.Frame) string

//go:linkname startLine runtime/pprof.runtime_FrameStartLine
//go:noescape
func startLine(f *runtime.Frame) int
