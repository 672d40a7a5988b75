// Package waiting interprets the results of package waits for perfline's pages, files and
// exporters: classes of kinds for pictures, attributes of spans, functions of intervals, the
// comparison with a profile, and the reasons why a request has no result. Users need only the data
// in package waits.
package waiting

import "github.com/perfline/perfline/waits"

// Kinds is the number of kinds.
const Kinds = waits.NotRun + 1

// A Class is a group of similar kinds of intervals, for pictures.
type Class uint8

// The classes.
const (
	ClassUnknown   Class = iota // outside the execution trace
	ClassRunning                // on a processor
	ClassRunnable               // ready, and waiting for a processor
	ClassWaiting                // waiting for another goroutine, for the network or for a time
	ClassSyscall                // in a system call, or in C code
	ClassCollector              // delayed by the garbage collector
	Classes                     // the number of classes
)

// ClassOf returns the class of a kind of interval.
func ClassOf(k waits.Kind) Class {
	switch k {
	case waits.Gap, Kinds:
		return ClassUnknown
	case waits.OnCPU:
		return ClassRunning
	case waits.Runnable, waits.OtherPrograms, waits.CPULimit, waits.NotRun:
		return ClassRunnable
	case waits.Syscall, waits.CCode:
		return ClassSyscall
	case waits.GCAssist, waits.StopTheWorld, waits.GarbageCollection:
		return ClassCollector
	case waits.Mutex, waits.ChannelSend, waits.ChannelReceive, waits.Select, waits.Network,
		waits.File, waits.Timer, waits.Condition, waits.WaitGroup, waits.Pool, waits.Wait:
	}
	return ClassWaiting
}

// String returns the name of the class in a legend, such as "runnable".
func (c Class) String() string {
	switch c {
	case ClassRunning:
		return "running"
	case ClassRunnable:
		return "runnable"
	case ClassWaiting:
		return "waiting"
	case ClassSyscall:
		return "system call or C code"
	case ClassCollector:
		return "garbage collector"
	case ClassUnknown, Classes:
	}
	return "not in the trace"
}

// OnProcessor reports whether a goroutine may use a processor during an interval of kind k. The
// result is true for running code, for work of the garbage collector, for system calls and for C
// code. During a system call, the kernel may use a processor.
func OnProcessor(k waits.Kind) bool {
	return k == waits.OnCPU || k == waits.Syscall || k == waits.CCode || k == waits.GCAssist
}

// Statuses returns all statuses that a waits recorder can report.
func Statuses() []waits.Status {
	return []waits.Status{
		waits.Disarmed, waits.Armed, waits.Paused, waits.InUse, waits.Forbidden,
	}
}
