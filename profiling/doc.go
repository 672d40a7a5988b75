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
// A [Profiler] takes samples; its output is a [profile.Trace]. The trace has the resources, frames,
// stacks and samples of the specification, and its JSON is exactly that. It also has the line that
// ran, the span and the labels of each sample, for pprof and for questions such as
// [profile.Trace.OfTrace] and [profile.Trace.Top]. Timestamps are on the axis of the timeline in
// ctx: marks, measures and samples share one clock. When that timeline has an
// observer.TimelineOptions.Clock, [Start], [Profiler.TakeTrace], [ForceSample] and [Profiler.Stop]
// read the clock, and timestamps in between are interpolated.
//
// # Engines
//
// Profilers share engines. Each profiler has its own interval, buffer and modules.
//
//   - [profile.EngineCPU] reads the CPU profiler of Go's runtime, with the time and the goroutine
//     of every sample. It sees code that runs. Intervals are CPU time of each thread: a process
//     that sleeps gives no samples, and one that keeps four cores busy gives four times as many.
//     Stacks are cut at 64 frames, and marked as cut. It works on Linux and macOS. CI runs it on
//     Linux, under the two newest Go releases.
//   - [profile.EngineWindow] uses the same profiler through runtime/pprof, on other systems.
//     Samples have the time of the second in which they were taken, and an interval of 10 ms. It
//     also replaces EngineCPU when that fails its self-test, in a new Go release for example.
//     [Profiler.Fallback] returns the reason, and one log line names the loss. If the cause may
//     pass, such as a machine that stalled, the hub tries EngineCPU again after a second, then less
//     and less often, and running profilers change to it.
//   - [profile.EngineWall], with [Options].Wall, samples all goroutines at each tick, running or
//     waiting. Its cost grows with their number, so it stretches the interval to keep within
//     [Options].WallBudget. [Profiler.SampleInterval] returns the interval in use.
//
// # Other users of the CPU profiler
//
// The process has one CPU profiler. While our profilers run, pprof.StartCPUProfile of other code
// returns its usual error. Code that calls pprof.StopCPUProfile first, as some agents do, takes the
// CPU profiler over; runtime.SetCPUProfileRate(0) interrupts it. Our profilers are paused then, and
// go on when it is free again. [profile.Stats] counts these gaps and their length as BusyGaps and
// BusyTime, and they are logged. A CPU profile that runs when a profiler starts is left alone: the
// profiler is paused until it ends. When a profiler has taken no sample meanwhile, [Profiler.Stop]
// returns [ErrBusy]. Profilers by the wall clock do not need the CPU profiler. [ServeProfile]
// replaces the handler of /debug/pprof/profile, which fails beside profilers.
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
//   - The trace has the samples from before [Profiler.Stop], and none from after it.
//   - No profiler waits for the program's log handler. Lines for slog's default logger are written
//     on a goroutine of their own. When the handler blocks, 32 lines wait, and further ones are
//     dropped and counted in the next line.
//   - A panic inside an engine does not end the program. EngineWindow goes on where EngineCPU
//     panicked. Without another engine, the profilers end and Stop returns the panic as an error.
//   - A sample names the sampled span that was active on its goroutine. With [LocalRoots] it names
//     the first span of its trace in this process. The name is the one at the span's end. It names
//     no span that has ended. See [WrapTracerProvider]. Spans that began before the first profiler,
//     and unsampled spans, are unknown. A measure of marks.Time labels nothing: its samples name
//     the span around it, and requests.Samples finds the measure.
//   - All functions and methods may be called concurrently.
//
// # Limitations
//
// Samples do not show what the kernel or code of other languages does inside. They show no waiting
// goroutines, except with Wall.
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
