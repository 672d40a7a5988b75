// Package runtimestats stores figures of the Go runtime of the last five minutes: memory,
// goroutines, garbage collections, scheduling and CPU time. A history also stores perfline's own
// counts and losses.
//
//	h := runtimestats.Start(runtimestats.Config{Counts: pl.Counts})
//	defer h.Stop()
//	for _, s := range h.Samples() {
//		fmt.Println(s.At, s.Heap, s.Goroutines, s.GCPauses.Max)
//	}
//
// # Guarantees
//
//   - A history takes one sample at its start and one every 5 s, and stores the samples of five
//     minutes.
//   - While the program sleeps, a history takes one sample a minute. A program sleeps when it used
//     less than a hundredth of a processor for half a minute, and no reader asked for samples.
//   - A timer triggers each sample. No goroutine runs between samples.
//   - A sample does not stop the program. A sample allocates nothing, unless a cause of losses is
//     new or Config.Counts allocates.
//   - A history occupies at most 128 KiB: 60 samples with their losses, and 256 causes in all.
//   - A figure that this release of Go lacks is NaN.
//   - All methods may be called concurrently.
//
// # Limitations
//
//   - The runtime counts CPU time by class when a garbage collection ends. An interval without a
//     garbage collection has no figures by class.
//   - Durations are the upper bounds of the runtime's buckets: at most a quarter too long.
//   - The first sample lacks rates and distributions, which are differences from the previous
//     sample.
package runtimestats
