// Package cpuprof takes samples from the runtime's log of CPU-profile signals, which
// holds what runtime/pprof throws away: when each sample was taken. It leans on the
// runtime of one Go version and on what linux and darwin have; elsewhere [New] says
// so, as an engine's Start does when the runtime is not what it should be.
//
// The log has one reader at a time. How an engine becomes it, and how it makes room
// for others who profile through runtime/pprof, is told at type owner.
package cpuprof

import "errors"

// ErrUnsupported is wrapped by the errors that tell why there is no engine: another
// one has to be used.
var ErrUnsupported = errors.New("the runtime's CPU-profile log cannot be read")

// ErrTransient is wrapped, beside [ErrUnsupported], by errors whose cause may pass: the
// process was stopped for a while, or other code set the profiler's rate.
var ErrTransient = errors.New("the cause may pass")
