// Package flight (may change) finds out what slow requests waited for: a lock and the request that
// held the lock, a processor, the network, a channel, a timer, the garbage collector. The recorder
// reads the execution trace that Go's runtime writes into a window of memory.
//
//	waits := flight.NewRecorder(flight.Config{Auto: true})
//	pipeline, err := perfline.Start(ctx, perfline.Config{Waits: waits})
//	…
//	err = waits.Arm(10 * time.Minute) // or Config.Armed, or the button on the page
//	…
//	result, ok := waits.Result(traceID, rootID)
//
// [NewRecorder] returns a [waits.Recorder], which documents the methods. An armed recorder runs the
// runtime's flight recorder ([runtime/trace.FlightRecorder]). The code that ends a slow request
// calls Slow, and the recorder takes a snapshot of the window. The result is a [waits.Request]: the
// intervals of the request's goroutines, and the causes of its duration, the longest first. Causes
// name functions of the program's main module, by build information. perfline.Start also gives the
// recorder the import paths in Config.Sessions.Policy.Modules, for programs of several modules.
//
// perfline's tracer provider and [bridge.Processor] note spans in the execution trace while the
// runtime writes a trace. Requests without a note have no result. Spans of the provider have none
// if they start on their parent's goroutine and take less than 0.1 ms: their time counts for the
// parent.
//
// # How a snapshot is taken
//
//   - A slow request waits 100 to 200 ms for its snapshot, which later slow requests share.
//   - The next snapshot comes [Config].MinInterval later. Requests that become slow earlier wait
//     for the next snapshot. The recorder abandons requests that leave the window first. If a
//     request waited that long and took longer than [Config].MinAge minus MinInterval, the result
//     lacks the beginning. Disarm and the end of an armed time take a last snapshot at once.
//   - The recorder writes and reads one snapshot at a time.
//
// # Guarantees
//
//   - Slow never blocks or panics, and allocates only to arm the recorder. A list holds up to 256
//     slow requests. If more requests are slow, the least slow ones give way; failed requests stay.
//     The recorder's own goroutines take and analyse snapshots.
//   - The analysis works in pieces of about a millisecond, and rests four times as long after each.
//     In any minute, the analysis uses 3 s of CPU time at most ([Config].MaxCPU), plus one piece.
//     On systems other than Linux, wall time counts instead of CPU time. The recorder takes a
//     snapshot when the rest of the CPU time suffices for an analysis like the last one. A costly
//     analysis may use up the CPU time, and goes on up to a minute later.
//   - Memory is bounded, except that the runtime takes MaxBytes as a hint. An armed recorder holds
//     the window: MaxBytes, and up to two seconds of the trace. From the first snapshot on, the
//     recorder also holds a buffer of four times MaxBytes at most. An analysis takes 5 to 15 times
//     the snapshot's size. [Config].Requests and 8 MiB bound the results, which share equal stacks
//     and texts.
//   - Stats counts one outcome for each call of Slow. If Slow returns true, the recorder calls each
//     function of Watch once.
//   - A panic of the analysis costs the results of its snapshot. Stats counts panics, the log has
//     one.
//   - A disarmed recorder has no goroutine, timer or buffer after the end of its analysis.
//   - Shutdown stops the analysis after the current piece, and waits for all goroutines.
//   - All methods may be called concurrently.
//
// # Other users of the execution tracer
//
// A process can run one flight recorder.
//
//   - While another one runs, Arm returns an error that wraps [waits.ErrInUse]. The recorder does
//     not retry, except with [Config].Auto some minutes later.
//   - While the recorder is armed, Start of another flight recorder fails with "flight recorder
//     already enabled". perfline cannot detect that failure. Call Disarm before.
//   - [runtime/trace.Start], go test -trace and net/http/pprof's /debug/pprof/trace work as usual
//     at the same time. Their traces contain perfline's notes, too.
//
// PERFLINE_PROFILING=off forbids recording.
//
// # Limitations
//
//   - The execution trace covers this process only. It shows that a request waited for the network,
//     but not why the other side was slow, unless a span of this process serves the call.
//   - The time before the window, and before the recorder was armed, is a gap in the result.
//   - A very busy process fills MaxBytes in less than a second. Then results cover the last second.
//     If that second alone exceeds four times MaxBytes, the snapshot fails.
//   - On systems other than Linux, the process's CPU time is unknown: results never say that other
//     programs had the processors, or that a limit of CPU time stopped the process. On Linux, the
//     kernel's counts distinguish both. If the counts explain neither, for example when a signal
//     stopped the process, the reason is unknown.
//   - If the operating system stops the process for about 20 ms or less, a wait that ends meanwhile
//     counts until the process runs again. For a longer stop, the stop is the cause.
//   - Some limits count as other programs: limits of a control group that the process cannot see,
//     such as the pod's group above a container with its own namespace. The kernel counts the time
//     of any limit as waiting for a processor, too.
//
// # Cost
//
// A program that does not import this package does not link the reader of execution traces. A
// disarmed recorder costs about 0.1 µs for each slow request, and nothing else.
//
// An armed recorder costs time at each switch between goroutines, for each system call, and for
// each note. In an idle process, the recorder takes about 1 % of a processor: a goroutine of the
// recorder runs every 20 ms, and notes that the process runs. The notes of a request take about
// 2 µs, and the notes of a span at most 1 µs. A request of 50 µs that switches goroutines often
// took about 7 µs longer. Each MB of a snapshot took 2 ms to write and 60 ms of CPU time to
// analyse. To measure these costs on your machine:
//
//	go test -run '^$' -bench 'Request|Slow|Snapshot' github.com/perfline/perfline/waits/flight
//
// Arm, Disarm and each snapshot stop all goroutines for a moment.
//
// [bridge.Processor]: https://pkg.go.dev/github.com/perfline/perfline/bridge#Processor
package flight
