// Package profile has what a profiler recorded, and its formats. It takes no samples: package
// profiling does, and programs that only read, keep or show traces import no sampler:
//
//	trace, err := profile.ReadJSON(file)
//	if err != nil {
//		return err
//	}
//	for _, f := range trace.OfTrace(id).Hottest(10) {
//		fmt.Println(f.Self, f.Name)
//	}
//	err = trace.WritePprof(other) // go tool pprof FILE
//
// A [Trace] has the resources, frames, stacks and samples of JS Self-Profiling's ProfilerTrace.
// Beside them it keeps the line that ran, the span and the labels of each sample. JSON has no
// place for these. A [Builder] makes a trace of samples, and [Join] one trace of several parts.
//
// # What it guarantees
//
//   - [Trace.WriteJSON] writes exactly what the specification says, and [ReadJSON] accepts what a
//     browser writes. Anything that breaks the specification's rules is an error that says where.
//   - [Trace.WritePprof] and [Trace.WriteFolded] lose no time: samples without a stack count, too.
//   - The writers check ids and order before they write the first byte.
//   - Memory to write a trace depends on the program's code and its spans, not on the number of samples.
//   - Methods of a Trace only read, so they may be called concurrently. A Builder is for one goroutine.
//
// # Limitations
//
//   - JSON has no lines, spans, labels, weights, interval and origin. Pprof and folded stacks have no
//     times of samples, and this package does not read them.
//   - A trace that was made by hand is checked by the writers only. Other methods panic when its
//     ids are out of range, and do not return when its stacks are their own callers.
package profile
