// Package waiting interprets the results of package waits for perfline's pages, files and
// exporters: classes of kinds for pictures, attributes of spans, functions of intervals, the
// comparison with a profile, and the reasons why a request has no result. Users need only the data
// in package waits.
package waiting

import "github.com/perfline/perfline/waits"

// Kinds is the number of kinds.
const Kinds = waits.NotRun + 1

// A Class groups kinds of intervals, for pictures.
type Class uint8

// The classes.
const (
	ClassUnknown   Class = iota // the execution trace does not reach
	ClassRunning                // on a processor
	ClassRunnable               // ready, and waiting for a processor
	ClassWaiting                // for another goroutine, for the network or for a time
	ClassSyscall                // in a system call
	ClassCollector              // the garbage collector takes the time
	Classes                     // the number of classes
)

// ClassOf returns the class of a kind.
func ClassOf(k waits.Kind) Class {
	switch k {
	case waits.Gap, Kinds:
		return ClassUnknown
	case waits.OnCPU:
		return ClassRunning
	case waits.Runnable, waits.OtherPrograms, waits.CPULimit, waits.NotRun:
		return ClassRunnable
	case waits.Syscall:
		return ClassSyscall
	case waits.GCAssist, waits.StopTheWorld, waits.GarbageCollection:
		return ClassCollector
	case waits.Mutex, waits.ChannelSend, waits.ChannelReceive, waits.Select, waits.Network,
		waits.File, waits.Timer, waits.Condition, waits.WaitGroup, waits.Pool, waits.Wait:
	}
	return ClassWaiting
}

// String returns the name of the class for a legend.
func (c Class) String() string {
	switch c {
	case ClassRunning:
		return "running"
	case ClassRunnable:
		return "runnable"
	case ClassWaiting:
		return "waiting"
	case ClassSyscall:
		return "system call"
	case ClassCollector:
		return "garbage collector"
	case ClassUnknown, Classes:
	}
	return "not in the trace"
}

// OnProcessor reports whether a goroutine in an interval of this kind, or the kernel in its system
// call, may use a processor.
func OnProcessor(k waits.Kind) bool {
	return k == waits.OnCPU || k == waits.Syscall || k == waits.GCAssist
}

// Statuses returns all statuses of a recorder.
func Statuses() []waits.Status {
	return []waits.Status{
		waits.Disarmed, waits.Armed, waits.Paused, waits.InUse, waits.Forbidden, waits.ShutDown,
	}
}
