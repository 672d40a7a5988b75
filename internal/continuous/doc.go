// Package continuous takes profiles of the running program all the time, and gives them to a list
// of sinks: profiles of CPU, heap, goroutines, mutex contention, blocking and leaked goroutines. It
// knows no format but the runtime's.
//
// A [Source] takes the profiles. An [Exporter] delivers them to one [Receiver], which packages
// pyroscope and otlpprofiles make. An exporter that is started alone has a source of its own.
// perfline.Start starts its exporters together, so that they share one:
//
//	run, err := continuous.StartExporters(ctx, continuous.Environment{Resource: res}, pushed, exported)
//	…
//	err = run.Shutdown(ctx)
//
// # Guarantees
//
//   - One goroutine takes the profiles and calls the sinks. It has no labels: its time does not
//     count as a request's.
//   - All sinks of a source get the same profiles. A sink that fails takes nothing from the others.
//   - The first profiles have nothing of the time before Start.
//   - CPU profiles follow each other without gaps. A profiler that ends is read to its end, and
//     another takes its place.
//   - A profile that fails, in the runtime or in a sink, is counted. The log has one line for its
//     kind.
//   - CPU samples stay in memory only after a call of [Source.LastMinute].
package continuous
