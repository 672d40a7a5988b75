// Package analysis reads an execution trace of package runtime/trace. The results are the intervals
// of the goroutines of requests, and the causes of the requests' durations:
//
//	roots := []analysis.Root{{TraceID: t, SpanID: s}}
//	own := modules.Read().Own(nil)
//	requests, began, err := analysis.Read(bytes.NewReader(data), roots, own, pause)
//	for _, r := range requests {
//		fmt.Println(r.Name, r.Sentence())
//	}
//
// The trace must contain the notes of spans that package tracelog writes.
//
// # Which goroutines work for a request
//
//   - The goroutine on which a span starts, until the span ends, on any goroutine.
//   - Goroutines that these goroutines create, in any generation, until the request ends.
//
// A goroutine works for its own spans first, then for the request that created it. The end of a
// wait makes no goroutine part of a request: pools of connections, locks and channels hand over
// between requests, too. A worker of a pool works for a request while a span of the request is open
// on the worker.
//
// An inner span starts on its parent's goroutine. The trace notes an inner span only at its end.
// Afterwards, the analysis divides the time of the goroutine among its inner spans, and the time of
// goroutines that the goroutine created in an inner span.
//
// Spans name their local root by the task of runtime/trace, or by a task inside. Beside
// OpenTelemetry's SDK, which makes a task for each span, the notes of spans name the local root.
// Two instrumentations may make two roots of one request on one goroutine: the root inside counts
// for the root around it.
//
// # What a goroutine does
//
//	execution trace                        interval
//	running                                OnCPU; GCAssist while it helps the garbage collector
//	running or runnable in a stop          StopTheWorld
//	runnable                               Runnable
//	system call                            Syscall; CCode if cgo called C code
//	"sync"                                 Mutex or WaitGroup, by the stack; Wait otherwise
//	"chan receive", "select"               ChannelReceive, Select; Pool in (*sql.DB).conn; or
//	                                       Timer if no goroutine ends it
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
// Causes partition the time of the serving goroutine that the trace covers. Gaps are no causes.
// Causes of the same kind, function, span and party are one cause.
//
// A cause names the innermost function of the program, and the outermost function of a library that
// this function called. A goroutine of a library that works for such a call, as the reader of a
// connection does, has no function of the program: then the caller's function and span count,
// whichever request created the goroutine.
//
//   - Waits for the work of another goroutine (ChannelReceive, Select, WaitGroup, Condition, Wait)
//     become what the goroutine that ended the wait did meanwhile, recursively. Before the creation
//     of that goroutine, its creator counts.
//   - Mutexes and pools count for the goroutine that released them. If that goroutine itself waited
//     in the same way meanwhile, the earlier time counts for the goroutine that ended its wait.
//   - A pool counts for nobody if the wait ended without a connection.
//   - ChannelSend counts for the goroutine that received, or that closed the channel.
//   - Network becomes what another request of this process did meanwhile, if the root of the other
//     request is a child of the span that waits. The trace must contain the start or the end of the
//     root.
//   - Time on a processor is one cause, with the innermost function that ran for more than half of
//     the time. The stack is known where the runtime preempted the goroutine, or the CPU profiler
//     sampled it. Elsewhere, the calls common to the stacks before and after count.
//   - Runnable counts for the goroutines on the processors, and proportionally for the collector.
//   - GCAssist and stops by the collector are GarbageCollection. Other stops name their goroutine.
//   - CPULimit, OtherPrograms and NotRun are time in which the operating system did not run this
//     process. One part is running time that the CPU time in the notes of tracelog.CPU does not
//     cover. The other part is each millisecond or more in which a goroutine is ready while a
//     processor of the runtime is free. The kernel's counts in the notes select the kind: how long
//     a limit stopped the process, and how long threads waited for a processor. A limit that
//     stopped the process explains at least the time that the goroutines needed beyond the limit.
//     The rest is NotRun: a signal or a debugger stopped the process, its group was frozen, or the
//     machine stood still. These kinds name no goroutine.
//   - Network, File, Timer, Syscall and CCode may end while the operating system does not run this
//     process. Then the trace has no event until the goroutine continues, although a note of
//     tracelog.Beat is due. This silence counts for CPULimit or OtherPrograms, as far as the
//     kernel's counts explain the silence.
//
// # Guarantees
//
//   - Intervals of a goroutine are in order and disjoint. The intervals of the serving goroutine
//     cover the request. With its gaps, causes add up to its duration. All are exact, to the
//     nanosecond.
//   - Read never panics. For a malformed or cut trace, it returns an error and the requests so far.
//   - Memory depends on the size of the trace, and on how long the wanted requests run in it. Read
//     needs five times the size for one short request, and fifteen times if requests run all the
//     time. A result contains some ten thousand intervals at most, or more for as many spans.
//   - Read starts no goroutine. It may be called concurrently with different readers.
//
// # Limitations
//
//   - The trace does not identify mutexes, channels and pools, only goroutines that end a wait.
//   - The time of an inner span counts for its parent if the span is shorter than
//     tracelog.ShortestInner, or outlasts the trace.
//   - A root that started before the trace counts for the goroutine on which the root ends. If the
//     root does not end in the trace, the goroutine works for no request.
//   - A wait that began before the trace has a stack only if the wait lasts until the next
//     generation. Without a stack, the goroutine that ended the wait decides: a select statement
//     counts as ChannelReceive, and the network as Wait.
//   - If a stop of the process is shorter than tracelog.BeatInterval, a wait that ends in the stop
//     has the time of the stop. The trace does not tell when the wait was due: a late wait that was
//     due during the stop counts for the stop from its begin.
//   - Time in which an allocation sweeps memory counts as running.
//   - A system call and C code may use the processor, or wait. The trace does not tell. C code that
//     other tools than cgo call is a system call.
//   - If the runtime has more processors than the machine gives to the process, its own threads
//     wait for each other, which counts as OtherPrograms.
package analysis
