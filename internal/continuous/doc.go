// Package continuous records profiles of the running program continuously, and passes the profiles
// to a list of sinks. The profiles show CPU time, heap, goroutines, mutex contention, blocking and
// leaked goroutines. Sinks receive the profiles in the runtime's format.
//
// A [Source] records the profiles. An [Exporter] delivers the profiles to one [Receiver]. Packages
// pyroscope and otlpprofiles create receivers. [Exporter.Start] creates a separate source.
// perfline.Start starts all exporters together, so that the exporters share one source:
//
//	env := continuous.Environment{Resource: res}
//	run, err := continuous.StartExporters(ctx, env, pushed, exported)
//	…
//	err = run.Shutdown(ctx)
//
// # Guarantees
//
//   - One goroutine records the profiles and calls the sinks. The goroutine carries no labels, so
//     the time of the goroutine does not count for a request.
//   - All sinks of a source receive the same profiles, even if another sink fails.
//   - The first profiles do not include the time before Start.
//   - CPU profiles follow each other without gaps. When a profiler ends, the source reads all
//     samples of the profiler, and starts another profiler.
//   - The source counts profiles that fail in the runtime or in a sink. The source logs one line
//     for each kind of profile.
//   - CPU samples stay in memory only after a call of [Source.LastMinute].
package continuous
