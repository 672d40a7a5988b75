// Package flight (may change) finds out what slow requests waited for: a lock and the request that
// held it, a processor, the network, a channel, a timer, the garbage collector. It reads the
// execution trace that Go's runtime writes into a window of memory.
//
//	waits := flight.NewRecorder(flight.Config{Auto: true})
//	pipeline, err := perfline.Start(ctx, perfline.Config{Waits: waits})
//	…
//	err = waits.Arm(10 * time.Minute) // or Config.Armed, or the button on the page
//	…
//	result, ok := waits.Result(traceID, rootID)
//
// [NewRecorder] returns a [waits.Recorder], which documents the methods. An armed recorder runs the
// runtime's flight recorder ([runtime/trace.FlightRecorder]). When a request was slow, the code
// that ends the request calls Slow, and the recorder takes a snapshot of the window. The result is
// a [waits.Request]: what each goroutine of the request did in each interval, and the causes of the
// request's duration, the longest first.
//
// perfline's tracer provider and [bridge.Processor] note spans in the execution trace while one is
// written. Requests without a note have no result. A span of the provider that starts on its
// parent's goroutine, and takes less than 0.1 ms, has no note: its time counts for the parent.
//
// # How a snapshot is taken
//
//   - A slow request waits 100 to 200 ms for its snapshot. Slow requests that end in the meantime
//     share it.
//   - The next snapshot comes [Config].MinInterval later. Requests that become slow before that
//     wait for it. They are given up if they leave the window first. Disarm and the end of an armed
//     time take a last snapshot at once.
//   - One snapshot is written and read at a time.
//
// # Guarantees
//
//   - Slow does not block and never panics. It allocates only when it arms the recorder. Slow
//     requests wait in a list of 256. Snapshots and their analysis are the work of the recorder's
//     own goroutines.
//   - The analysis works in pieces of about a millisecond, and rests four times as long after each.
//     In any minute, it uses 3 s of CPU time at most ([Config].MaxCPU), plus one piece. On systems
//     other than Linux, wall time counts in its place. A result may therefore come minutes after
//     its request.
//   - Memory is bounded, except that the runtime takes MaxBytes as a hint. An armed recorder has
//     the window, of MaxBytes and up to two seconds of the trace. After the first snapshot it also
//     has a buffer for it, of four times MaxBytes at most. An analysis takes 5 to 15 times the
//     snapshot's size. Results have [Config].Requests and [Config].ResultBytes.
//   - Each call of Slow has one outcome in Stats. If Slow returns true, functions of Watch are
//     called once.
//   - A panic of the analysis is counted and logged once. The requests of its snapshot have no
//     result.
//   - A disarmed recorder has no goroutine, no timer and no buffer. An analysis under way ends
//     first.
//   - Shutdown stops the analysis at the end of the current piece of work. No goroutine is left
//     after it.
//   - All methods may be called concurrently.
//
// # Other users of the execution tracer
//
// A process can have one flight recorder.
//
//   - If another one runs, Arm returns an error that wraps [waits.ErrInUse]. The recorder does not
//     try again by itself, except with [Config].Auto some minutes later.
//   - While the recorder is armed, Start of another flight recorder fails with "flight recorder
//     already enabled". perfline cannot see that. Call Disarm before, or do not arm the recorder in
//     such a program.
//   - [runtime/trace.Start], go test -trace and net/http/pprof's /debug/pprof/trace work as usual
//     at the same time. They have perfline's notes, too.
//
// PERFLINE_PROFILING=off forbids recording, as all profiling.
//
// # Limitations
//
//   - The execution trace has this process only. It shows that a request waited for the network,
//     not what the other side did.
//   - The time before the window, and before the recorder was armed, is a gap in the result.
//   - A very busy process fills MaxBytes in less than a second. Its requests are found if the last
//     second has them. If that second alone has more than four times MaxBytes, the snapshot is
//     dropped and counted as failed.
//   - On systems other than Linux, the process's CPU time is not known. Results do not tell then
//     whether other programs had the processors, or a limit of CPU time stopped the process. On
//     Linux, the kernel's counts tell which of the two it was. Where they tell of neither, as of a
//     process that a signal has stopped, results say that why is not known.
//   - The kernel counts the time of a limit as waiting for a processor, too. A limit of a control
//     group that the process cannot see, as that of a pod above a container with a namespace of its
//     own, counts as other programs.
//
// # Cost
//
// A program that does not import this package does not link the reader of execution traces. A
// disarmed recorder costs nothing until a request is slow, and then about 0.1 µs.
//
// An armed recorder costs time at each switch between goroutines, for each system call, and for
// each note. The notes of a request take about 2 µs, and the notes of a span half of that or less.
// A request of 50 µs that switches goroutines often took about 7 µs longer. Each MB of a snapshot
// took 2 ms to write and 60 ms of CPU time to analyse. To measure all of this on your machine:
//
//	go test -run '^$' -bench 'Request|Slow|Snapshot' github.com/perfline/perfline/waits/flight
//
// Arm, Disarm and each snapshot stop all goroutines for a moment.
//
// [bridge.Processor]: https://pkg.go.dev/github.com/perfline/perfline/bridge#Processor
package flight
