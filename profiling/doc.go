// Package profiling (stable) samples the running program: which code ran, when, and for which span.
// It is JS Self-Profiling for Go:
//
//	p, err := profiling.Start(ctx, profiling.Options{})
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
// A [Profiler] takes samples and returns a [profile.Trace]. The trace's JSON has exactly the
// resources, frames, stacks and samples of the specification. For pprof and for queries such as
// [profile.Trace.OfTrace] and [profile.Trace.Top], the trace also has the line, the span and the
// labels of each sample. Timestamps are by the timeline in ctx: marks, measures and samples share
// one clock. If the timeline has an observer.TimelineOptions.Clock, [Start], [Profiler.TakeTrace],
// [ForceSample] and [Profiler.Stop] read the clock, and timestamps in between are interpolated.
//
// # Engines
//
// Profilers share engines. Each profiler has its own interval, buffer and modules.
//
//   - [profile.EngineCPU] reads the CPU profiler of Go's runtime, and samples running code with the
//     time and the goroutine of each sample. Intervals are CPU time of each thread: a sleeping
//     process yields no samples, and a process on four cores four times as many as on one. Stacks
//     are cut at 64 frames and marked. The engine works on Linux and macOS. CI runs it on Linux,
//     under the two newest Go releases.
//   - [profile.EngineWindow] uses the same profiler through runtime/pprof, on other systems. The
//     time of a sample is the end of its second, and the interval is 10 ms. The engine replaces
//     EngineCPU when EngineCPU fails its self-test, under a new Go release for example.
//     [Profiler.Fallback] returns the reason, and one log line names the loss. After a failure that
//     may pass, such as a stalled machine, profilers return to EngineCPU: tries begin after a
//     second and become less frequent.
//   - [profile.EngineWall], with [Options].Wall, samples all goroutines at each tick, running or
//     waiting. The cost grows with the number of goroutines: the engine lengthens the interval to
//     stay within [Options].WallBudget. [Profiler.SampleInterval] returns the interval in use.
//
// # Other users of the CPU profiler
//
// The process has one CPU profiler. While our profilers run, pprof.StartCPUProfile of other code
// returns its usual error. Our profilers pause when other code takes the CPU profiler by calling
// pprof.StopCPUProfile first, as some agents do, or calls runtime.SetCPUProfileRate(0). They resume
// when the CPU profiler is free. The log reports these gaps, and [profile.Stats] counts them as
// BusyGaps and BusyTime. A profiler that starts during another CPU profile pauses until that
// profile ends. If a profiler takes no sample at all, [Profiler.Stop] returns [ErrBusy]. Wall
// profilers do not need the CPU profiler. [ServeProfile] replaces the handler of
// /debug/pprof/profile, which fails beside profilers.
//
// Package pyroscope profiles continuously and pushes to a server. Package sessions records samples
// together with the entries of a timeline, and package service serves such sessions.
//
// # Guarantees
//
//   - Samples are in the order of time. Dropped, lost and cut samples are counted.
//   - Weights are as measured: a sample stands for its interval. On Linux the kernel's timers miss
//     threads that run in short bursts, so samples stand for less than [profile.Trace].CPUTime.
//   - Memory is bounded by [Options].MaxBufferSize, and by the program's own number of distinct
//     stacks.
//   - The trace has all samples from before [Profiler.Stop], and none from after the call.
//   - No profiler waits for the program's log handler: another goroutine writes to slog's default
//     logger. When the handler blocks, at most 32 lines wait. Further lines are dropped and counted
//     in the next line.
//   - A panic inside an engine does not end the program. EngineWindow replaces an EngineCPU that
//     panicked. Without another engine, the profilers end and Stop returns the panic as an error.
//   - A sample names the sampled span that was active on its goroutine, or with [LocalRoots] the
//     first span of that trace in this process, by the name at the span's end. See
//     [WrapTracerProvider]. Samples do not name ended spans, unsampled spans, or spans that began
//     before the first profiler. A measure of marks.Time labels nothing: its samples name the span
//     around the measure, and requests.Samples finds the measure.
//   - All functions and methods may be called concurrently.
//
// # Limitations
//
// Samples do not show the inside of the kernel or of code in other languages. Only Wall profilers
// show waiting goroutines.
//
// # Access
//
// The application's own code may start profilers. Remote callers, such as clients of package
// service, need a [Policy], which allows nothing by default. The environment variable
// PERFLINE_PROFILING restricts profiling:
//
//   - "off" forbids all profiling.
//   - "remote" allows profiling to the application's own code, and to remote callers whatever their
//     [Policy] says.
//   - Without a value, the application's own code may profile, and remote callers if their Policy
//     allows it.
//   - Any other value counts as "off".
package profiling
