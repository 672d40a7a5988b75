// Package analysis reads an execution trace of package runtime/trace, and says what the goroutines
// of requests did and why the requests took their time:
//
//	requests, err := analysis.Read(bytes.NewReader(data), []analysis.Root{{TraceID: t, SpanID: s}}, pause)
//	for _, r := range requests {
//		fmt.Println(r.Name, r.Sentence())
//	}
//
// Package tracelog writes the notes of spans that must be in the trace.
//
// # Which goroutines work for a request
//
//   - The goroutine on which a span starts, until the span ends. It may end on another goroutine.
//   - Goroutines that such a goroutine creates, and those that they create, until the request ends.
//   - Workers of pools. A worker waits at a channel, a select statement or a condition, and works
//     for no request. It works for the request whose goroutine ends this wait. It stops when it
//     waits in the same place again, or when another request wakes it.
//
// A goroutine's own spans come first, then the request that created it, then the one that woke it.
//
// The trace has an inner span, which starts on its parent's goroutine, at its end only. The time of
// that goroutine is divided among such spans afterwards, and so is the time of goroutines that were
// created or woken in one.
//
// # What a goroutine does
//
//	execution trace                        interval
//	running                                OnCPU; GCAssist while it helps the garbage collector
//	running or runnable in a stop          StopTheWorld
//	runnable                               Runnable
//	system call                            Syscall
//	"sync"                                 Mutex or WaitGroup, by the stack; Wait if it is neither
//	"chan receive", "select"               ChannelReceive, Select; Pool in (*sql.DB).conn; Timer if no goroutine ends it
//	"chan send"                            ChannelSend
//	"network"                              Network, or File below package os
//	"sleep"                                Timer
//	"sync.(*Cond).Wait"                    Condition
//	waits for the garbage collector        GCAssist
//	other reasons                          Wait
//	nothing                                Gap
//
// # Causes
//
// They partition the time of the serving goroutine.
//
//   - Waits for the work of another goroutine (ChannelReceive, Select, WaitGroup, Condition, Wait)
//     are replaced by what the goroutine that ended the wait did meanwhile, and so on. Before that
//     goroutine was created, its creator counts.
//   - Mutexes and pools count for the goroutine that released them. If that one had waited
//     meanwhile in the same way, the time before counts for the goroutine that ended its wait.
//   - ChannelSend counts for the receiver.
//   - Time on a processor has one cause with the innermost function that ran for more than half of
//     it. Where the runtime preempted the goroutine, or the CPU profiler sampled it, its stack is
//     known. Elsewhere the calls count that it had both before and after.
//   - Runnable counts for the goroutines that held the processors meanwhile. The garbage collector
//     counts in proportion.
//   - GCAssist and stops by the garbage collector are GarbageCollection. Other stops name the
//     goroutine that stops.
//   - CPULimit, OtherPrograms and NotRun are time that this process did not get from the operating
//     system. It is the part of the running time that the notes of tracelog.CPU lack. It is also
//     each millisecond or more in which a goroutine is ready while a processor of the runtime is
//     free. The kernel's counts in the notes say which of the three: for how long a limit stopped
//     the process, and for how long threads waited for a processor. A limit that stopped the
//     process explains at least what the goroutines needed beyond it. What neither explains is
//     NotRun: a signal or a debugger stopped the process, its group was frozen, or the machine
//     stood still. These kinds name no goroutine.
//
// # Guarantees
//
//   - Intervals of a goroutine are in order and disjoint. The intervals of the serving goroutine
//     cover the request. Causes add up to its duration. All are exact, to the nanosecond.
//   - A malformed or cut trace gives an error and the requests so far. Read never panics.
//   - Memory depends on the size of the trace, and on how long the wanted requests run in it. It is
//     five times the size for one short request, and fifteen times when the requests run all the
//     time. A result has some ten thousand intervals at most, unless it has as many spans.
//   - Read starts no goroutine. It may be called concurrently with different readers.
//
// # Limitations
//
//   - The trace does not identify mutexes, channels and pools. A wait is blamed by who ended it.
//   - An inner span counts for the span above if it is shorter than tracelog.ShortestInner, or if
//     the trace ends before it does.
//   - A worker that finds its next job without a wait, in a buffered channel, still counts for the
//     request before.
//   - A root that started before the trace is taken to be on the goroutine on which it ends. Spans
//     of other roots that started before the trace have no name.
//   - A wait that began before the trace has a stack only if it lasts until the next generation.
//     Without a stack, the goroutine that ended the wait decides: a select statement counts as
//     ChannelReceive, and the network as Wait.
//   - Time in which an allocation sweeps memory counts as running.
//   - A system call may use the processor, or wait. The trace does not tell.
//   - If the runtime has more processors than the machine gives to the process, its own threads
//     wait for each other. That counts as OtherPrograms.
package analysis
