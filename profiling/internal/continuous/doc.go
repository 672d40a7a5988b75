// Package continuous takes profiles of the running program all the time, and gives them to a
// [Sink]: of CPU, heap, goroutines, mutex contention, blocking and leaked goroutines. It knows no
// receiver and no format but the runtime's.
//
//	source, err := continuous.Start(continuous.Config{
//		Interval: 15 * time.Second, LeakInterval: -1, Sink: sink, Process: continuous.ThisProcess(ctx, profiling.LocalRoots),
//		Counts: "Stats", Logger: logger,
//	})
//	…
//	err = source.Stop(ctx)
//
// # Guarantees
//
//   - One goroutine takes the profiles and calls the sink. It has no labels: its time does not
//     count as a request's.
//   - The first profiles have nothing of the time before Start.
//   - CPU profiles follow each other without gaps. A profiler that ends is read to its end, and
//     another takes its place.
//   - A profile that fails, in the runtime or in the sink, is counted. The log has one line for its
//     kind.
//   - CPU samples stay in memory only after a call of [Source.LastMinute].
//   - Several sources may run at once. Each has its own profiles: what one has taken is in the
//     other's, too.
package continuous
