// Package marks (stable) is User Timing for Go: it says what happened when, and how long
// things took, in one line each (W3C User Timing Level 3).
//
//	marks.Mark(ctx, "cache.miss", slog.String("key", key))
//	defer marks.Time(ctx, "render").End()
//	ctx, t := marks.Start(ctx, "checkout")
//	defer t.End()
//
// Entries go to the timeline in ctx, the request's or else the process's, where
// observers see them (package observer). With package bridge in the program,
// marks become events of the OpenTelemetry span in ctx and measures its child
// spans; without it they stay on the timeline.
//
// # Instrument your library
//
// This package imports only the standard library and needs no set-up. With a bridge,
// your users see your marks in their traces. Without one, they need not know of them.
// The example "Library" is a cache that uses all of it.
//
//   - Mark the moments that explain a slow request with [Mark]: a miss, a retry, an
//     empty pool. Time the work that waits or computes with [Time]. Around code that
//     is not yours, use [Start] and pass its context on: that code's spans and measures
//     become children. Measure a loop as a whole, with its rounds as an attribute.
//   - Names are constant strings with dots, your library's name first ("cache.miss").
//     They are part of your API: document them. Varying values belong in attributes.
//   - Attributes are scalars ([slog.String], [slog.Int]) that you already have. Up to
//     four cost no allocation. Other values become text during the
//     call, which takes longer. Attributes leave the process: pass no secrets and
//     nothing of unlimited length.
//   - Take a context and pass it on. Marks without a request's context go to the
//     process's timeline.
//   - A mark costs one to two readings of the clock, and Time…End two to three. They
//     allocate nothing. [Start] costs about five, and allocates its context when there
//     is a bridge. Under a span that is not recorded, each costs less than one reading,
//     unless an observer wants the entries or the request may still be kept. A measure
//     in a histogram of the application costs the readings and the histogram.
//   - [Keep] asks for the whole request to be kept, for cases that only your code can
//     see. Use it rarely: there is a ceiling for all of them.
//   - In tests, [github.com/perfline/perfline/observer/observertest.Recorder] returns
//     the marks, with a clock that the test moves.
//
// A function that its users hand you can be wrapped once, by [Timerify]. A library
// that logs with a context needs nothing: an application that wants its warnings
// in traces puts [NewHandler] before its log's handler. To do so is the
// application's choice, never a library's.
//
// # Guarantees
//
//   - Mark, Time, Start and End never block, fail or panic. A nil context counts as
//     an empty one. They read values from ctx and ignore its cancellation.
//   - Mark and Time…End allocate nothing with up to four scalar attributes.
//   - The call freezes the attributes, if anything wants the entry. It copies scalars and
//     lists of scalars, and turns every other value into text. The program may change
//     the values afterwards. Package observer has the rules and the bounds.
//   - A panic in a method of an attribute (Error, String) becomes text. A method that
//     blocks delays only its caller.
//   - Under a span that is not recorded, nothing happens unless an observer wants the
//     entries, or the program may still keep the request (see [Keep]). [Measure] then
//     checks its options and returns no entry. A histogram of the application gets
//     measures there as well: they are timed, and are no entries.
//
// # Limitations
//
//   - It sets no limit on names: as many different ones as a program makes up
//     reach its backend.
//   - End of a measure that was never started, or of one that was never ended:
//     the first does nothing, the second leaves nothing behind.
package marks
