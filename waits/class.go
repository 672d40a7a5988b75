package waits

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

// Class returns the class of the kind.
func (k Kind) Class() Class {
	switch k {
	case Gap, Kinds:
		return ClassUnknown
	case OnCPU:
		return ClassRunning
	case Runnable, OtherPrograms, CPULimit, NotRun:
		return ClassRunnable
	case Syscall:
		return ClassSyscall
	case GCAssist, StopTheWorld, GarbageCollection:
		return ClassCollector
	case Mutex, ChannelSend, ChannelReceive, Select, Network, File, Timer, Condition, WaitGroup, Pool, Wait:
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

// OnProcessor reports whether a goroutine in a state of this kind may use a processor. In a system call, the kernel may.
func (k Kind) OnProcessor() bool { return k == OnCPU || k == Syscall || k == GCAssist }
