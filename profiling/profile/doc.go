// Package profile (stable) has what a profiler recorded, and its formats. It takes no samples:
// package profiling does. Programs that only keep, query or show traces import no sampler:
//
//	err := trace.WritePprof(file) // go tool pprof FILE
//	for _, s := range trace.Samples {
//		for c := range trace.Calls(s) { // the innermost function first
//			fmt.Println(s.Timestamp, s.Weight, c.Name, c.File, c.Line)
//		}
//	}
//
// A [Trace] has the resources, frames, stacks and samples of JS Self-Profiling's ProfilerTrace.
// Beside them it keeps the line that ran, the span and the labels of each sample. JSON has no
// place for these. A [Builder] makes a trace of samples, and [Join] one trace of several parts.
//
// # Guarantees
//
//   - [Trace.WriteJSON] writes exactly what the specification says.
//   - [Trace.WritePprof] loses no time: samples without a stack count, too.
//   - The writers check ids and order before they write the first byte.
//   - Memory to write a trace depends on the program's code and its spans, not on the number of
//     samples.
//   - Methods of a Trace only read, so they may be called concurrently. A Builder is for one
//     goroutine.
//
// # Limitations
//
//   - JSON has no lines, spans, labels, weights, interval and origin. Pprof has no times of
//     samples. This package reads neither.
//   - A trace that was made by hand is checked by the writers only. Other methods panic when its
//     ids are out of range, and do not return when its stacks are their own callers.
package profile
