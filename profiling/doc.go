// Package profiling samples the running program: which code ran, when, and for
// which span. It is JS Self-Profiling for Go:
//
//	p, err := profiling.Start(ctx, profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 10_000})
//	if err != nil {
//		return err
//	}
//	work(ctx)
//	trace, err := p.Stop()
//	if err != nil {
//		return err
//	}
//	err = trace.WritePprof(file) // go tool pprof file
//
// A [profile.Trace] has the resources, frames, stacks and samples of the specification, and
// its JSON is exactly that. Beside them it keeps the line that ran, the span and the
// labels of each sample, for pprof, folded stacks and the questions that
// [profile.Trace.OfTrace] and [profile.Trace.Hottest] answer. Timestamps are on the axis of the
// timeline in ctx, so that marks, measures and samples share one clock. When that timeline has
// an observer.TimelineOptions.Clock, [Start], [Profiler.TakeTrace], [ForceSample] and
// [Profiler.Stop] read the clock, and timestamps in between are interpolated.
//
// # What samples
//
// Sessions share engines, each session with its own interval, buffer and modules:
//
//   - "cpu": the CPU profiler of Go's runtime, read with the time and the goroutine of
//     every sample. It sees code that runs. Its intervals are CPU time, of each
//     thread: a process that sleeps gives no samples, and one that keeps four cores
//     busy gives four times as many. Stacks are cut at 64 frames, and say so. It works
//     on Linux and macOS. CI runs it on Linux, under the two newest Go releases.
//   - "window": the same profiler through runtime/pprof, everywhere else: samples have
//     the time of the second they were taken in, and an interval of 10 ms. It samples, too, when
//     "cpu" fails its self-test, in a new Go release say. [Profiler.Fallback] gives the reason,
//     and one line in the log names the loss. A cause that may pass, such as a machine that stalled, has "cpu" tried
//     again after a second, then less and less often; sessions that run change to it.
//   - "wall", with [Options].Wall: all goroutines at each tick, running or waiting. Its
//     cost grows with their number, so the interval is stretched to keep within
//     [Options].WallBudget, and [Profiler.SampleInterval] tells what it has become.
//
// The CPU profiler of a process serves one at a time. While sessions run, other code's
// pprof.StartCPUProfile gets its usual error. Code that calls pprof.StopCPUProfile first, as
// some agents do, takes the profiler over; runtime.SetCPUProfileRate(0) interrupts it. Sessions
// are paused then, and go on when the profiler is free again. [profile.Stats] counts these gaps and their
// length as BusyGaps and BusyTime, and they are logged. A profile that runs when a session starts
// is left alone: the session is paused until that ends. When a session never had the profiler,
// [Profiler.Stop] returns [ErrBusy]. [ServeProfile] is /debug/pprof/profile that works beside
// sessions. Package pyroscope pushes profiles all the time, by a session that never ends.
// Package sessions records samples together with what the timeline says happened, and package
// service serves that.
//
// # What it guarantees
//
//   - Samples are in the order of time; what is dropped, lost or cut is counted.
//   - The samples of a session of the CPU stand for the CPU time that the process used
//     while it sampled, on Linux, also where threads run in bursts so short that the
//     kernel's timers miss some of them; see [profile.Sample].Weight.
//   - Memory is bounded by [Options].MaxBufferSize, and by the program's own number of
//     distinct stacks.
//   - Nothing is sampled after [Profiler.Stop] was called, and what ran before is in
//     the trace.
//   - No session waits for the program's log handler. Lines for slog's default logger are
//     written on a goroutine of their own; when the handler blocks, 32 lines wait, and further
//     ones are dropped and counted in the next line.
//   - A panic inside an engine does not end the program. "window" goes on where "cpu" panicked;
//     without another engine, the sessions end and Stop returns the panic as an error.
//   - A sample has the sampled span that was active on its goroutine, or with [spanlabels.LocalRoots]
//     the first of its trace in this process, by the name that it ended with; none when it
//     has ended. See [TracerProvider]. Spans that began before the first session started, and
//     those that OpenTelemetry's sampler left out, are not known. A measure of
//     marks.Time labels nothing: its samples are of the span around it, and
//     requests.Request.Samples tells them apart.
//   - All functions and methods may be called concurrently.
//
// It does not see what the kernel or code of other languages does inside, nor
// goroutines that wait, unless Wall is set.
//
// # Who may start it
//
// The application's own code may. Sessions that somebody outside asks for go through
// a [Policy], which refuses them unless the application allowed them. PERFLINE_PROFILING=off
// refuses all, PERFLINE_PROFILING=remote allows those from outside.
package profiling
