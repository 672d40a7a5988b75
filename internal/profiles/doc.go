// Package profiles sums the samples of a trace of package profile for pages, files and agents.
//
//	for _, f := range profiles.Functions(trace, slices.Values(trace.Samples)) {
//		fmt.Println(f.Self, f.Name, f.File, f.Line)
//	}
//
// [Functions] returns the table of functions. [NewTree] returns the flame graph. [Node.Sandwich]
// returns the callers and callees of a function. [NewDifference] compares two profiles. All
// functions accept selected samples of a trace, without a copy of the trace.
//
// # Guarantees
//
//   - No time is lost: the sum of Self of all functions is the weight of the samples.
//   - Memory depends on the number of distinct stacks, not on the number of samples.
//   - Functions only read the trace, so they may be called concurrently.
//
// # Limitations
//
//   - All functions panic if ids of the trace are out of range. The functions do not return if a
//     stack is an outer stack of itself.
package profiles
