// Package profiles adds up the samples of a trace of package profile for pages, files and agents.
//
//	for _, f := range profiles.Functions(trace, slices.Values(trace.Samples)) {
//		fmt.Println(f.Self, f.Name, f.File, f.Line)
//	}
//
// [Functions] is the table of functions, [NewTree] the flame graph, [Node.Sandwich] the callers and
// callees of a function, and [NewDifference] compares two profiles. All take samples of a trace, so
// that a part of it needs no copy.
//
// # Guarantees
//
//   - No time is lost: times of functions in themselves add up to the weight of the samples.
//   - Memory depends on the number of different stacks, not on the number of samples.
//   - Functions only read the trace, so they may be called concurrently.
//
// # Limitations
//
//   - All functions panic when ids of the trace are out of range, and do not return when its stacks
//     are their own callers.
package profiles
