// Package bridgetest (stable) shows in a test which spans, marks and measures the code under test
// made.
//
//	rec := bridgetest.New(t)
//	checkout(rec.Context(t.Context()), "socks")
//	rec.Want(`
//		checkout sku=socks
//		  * order.accepted
//		  pay (error: card declined)
//		    * exception
//	`, "sku")
//
// A line is a span, and a line with an asterisk is an event of the span above it: a mark, or what
// AddEvent and RecordError add. Measures are spans. The order is by start. [Recorder.Tree] returns
// this text, [Recorder.Span] a span by its name, [Recorder.Spans] all of them, and
// [Recorder.Entries] what observers of the timeline receive. When the test fails, its log has the
// whole tree with all attributes.
//
// Spans come from perfline's provider, and none is left out by a sampler. [Over] takes them from
// the SDK's provider.
//
// # What the code under test must use
//
//   - Marks and measures need a context that comes from [Recorder.Context].
//   - Spans need [Recorder.TracerProvider]. Code that has no parameter for it asks for
//     OpenTelemetry's global provider. The test sets that with otel.SetTracerProvider, and cannot
//     run in parallel with others then.
//   - A middleware needs both: bridgehttp.Server{TracerProvider: rec.TracerProvider(), Timeline:
//     rec.Timeline()}.
//
// # Guarantees
//
//   - A recorder has a timeline and a provider of its own, and changes nothing global. Tests with
//     recorders may run in parallel, unless they share the SDK's provider.
//   - The result of a call has all that was recorded before it, on whatever goroutine.
//   - All methods may be called concurrently. The results are the caller's.
//   - Nothing runs after the test.
//
// Package observer/observertest is for code that only marks and measures: it needs the standard
// library alone, and its clock stands still.
package bridgetest
