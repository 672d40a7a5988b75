// Package cpuprof takes samples from the log of the runtime's CPU profiler. The log is a buffer in
// the runtime, and contains the time of each sample. runtime/pprof discards the times. The package
// depends on internals of the Go runtime, and on Linux or macOS. [New] returns an error on other
// systems, and Start when the runtime fails the engine's test.
//
// The log has one reader at a time. Type owner documents how an engine becomes the reader, and how
// it yields to other code that profiles through runtime/pprof.
package cpuprof

import "errors"

// ErrUnsupported is wrapped by errors after which the engine cannot be used.
var ErrUnsupported = errors.New("the buffer of the runtime's CPU profiler cannot be read")
