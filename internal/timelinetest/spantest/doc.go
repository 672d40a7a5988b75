// Package spantest implements a tracing system for the tests of packages observer and marks. The
// package creates spans with units, simulates spans of other tracers, and stores the received
// records.
//
//	tracing := spantest.New(timeline)
//	root := tracing.NewRoot("GET /")
//	marks.Mark(root.Context(ctx), "m")
//	root.End()
//	parts := tracing.Take() // one part: the span, with its mark
package spantest
