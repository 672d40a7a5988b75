// Package profile (stable) is the data of a profiler, and its formats. Package profiling takes the
// samples. Programs that only store, query or show traces import no sampler:
//
//	err := trace.WritePprof(file) // go tool pprof FILE
//	for _, s := range trace.Samples {
//		for c := range trace.Calls(s) { // the innermost function first
//			fmt.Println(s.Timestamp, s.Weight, c.Name, c.File, c.Line)
//		}
//	}
//
// A [Trace] holds the resources, frames, stacks and samples of JS Self-Profiling's ProfilerTrace.
// It also holds the line, the span and the labels of each sample, for which JSON has no place. A
// [Builder] builds a trace of samples, and [Join] joins traces.
//
// # Guarantees
//
//   - [Trace.WriteJSON] writes exactly what the specification says.
//   - [Trace.WritePprof] loses no time: samples without a stack count, too.
//   - The writers check ids and order before they write the first byte.
//   - Memory to write a trace depends on the program's code and its spans, not on its samples.
//   - Methods of a Trace only read, and may be called concurrently. A Builder is for one goroutine.
//
// # Limitations
//
//   - JSON lacks lines, spans, labels, weights, the interval and the origin. Pprof lacks the times
//     of samples. This package reads neither format.
//   - Only the writers check a trace that was made by hand. Other methods panic if its ids are out
//     of range, and do not return if its stacks form a circle.
package profile
