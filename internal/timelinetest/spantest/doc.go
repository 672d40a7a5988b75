// Package spantest is a tracing system for the tests of packages observer and marks. It makes spans
// that have units, stands for spans of other tracers, and keeps what it receives.
//
//	tracing := spantest.New(timeline)
//	root := tracing.NewRoot("GET /")
//	marks.Mark(root.Context(ctx), "m")
//	root.End()
//	parts := tracing.Take() // one part: the span, with its mark
package spantest
