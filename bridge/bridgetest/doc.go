// Package bridgetest (stable) records the spans, marks and measures of code under test, and
// compares them with a text.
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
// A line is a span. A line with an asterisk is an event of the span above: a mark, or an event by
// AddEvent or RecordError. Measures are spans. Lines are sorted by start. [Recorder.Tree] returns
// this text, [Recorder.Span] a span by name, [Recorder.Spans] all spans, and [Recorder.Entries] the
// entries that observers of the timeline receive. A failed test logs the whole tree with all
// attributes.
//
// Spans come from perfline's provider, which samples all spans. With [Over], spans come from the
// SDK's provider.
//
// # Set-up of the code under test
//
//   - Marks and measures need a context from [Recorder.Context].
//   - Spans need [Recorder.TracerProvider]. Code without a parameter for the provider uses
//     OpenTelemetry's global provider. The test then calls otel.SetTracerProvider, and cannot run
//     in parallel with other tests.
//   - A middleware needs both: bridgehttp.Server{TracerProvider: rec.TracerProvider(), Timeline:
//     rec.Timeline()}.
//
// # Guarantees
//
//   - A recorder uses its own timeline and provider, and changes no global state. Tests with
//     recorders may run in parallel, unless the tests share the SDK's provider.
//   - The result of a call includes everything that any goroutine recorded before the call.
//   - All methods may be called concurrently. The caller owns the results.
//   - No goroutine of a recorder runs after the test.
//
// Package observer/observertest is for code with marks and measures only: observertest needs only
// the standard library, and its clock stands still.
package bridgetest
