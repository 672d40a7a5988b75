// Package continuous takes profiles of the running program all the time, and passes them to a list
// of sinks: profiles of CPU, heap, goroutines, mutex contention, blocking and leaked goroutines. It
// knows only the runtime's format.
//
// A [Source] takes the profiles. An [Exporter] delivers them to one [Receiver], which packages
// pyroscope and otlpprofiles make. An exporter that is started alone has its own source.
// perfline.Start starts its exporters together, so that they share one source:
//
//	env := continuous.Environment{Resource: res}
//	run, err := continuous.StartExporters(ctx, env, pushed, exported)
//	…
//	err = run.Shutdown(ctx)
//
// # Guarantees
//
//   - One goroutine takes the profiles and calls the sinks. It has no labels: its time does not
//     count for a request.
//   - All sinks of a source get the same profiles, also when another sink fails.
//   - The first profiles do not include the time before Start.
//   - CPU profiles follow each other without gaps. The source reads a profiler that ends to its
//     end, and starts another.
//   - A profile that fails, in the runtime or in a sink, is counted. The log has one line for its
//     kind.
//   - CPU samples stay in memory only after a call of [Source.LastMinute].
package continuous
