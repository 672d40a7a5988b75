// Package marks (stable) is User Timing for Go: one line of code records a moment or a duration
// (W3C User Timing Level 3).
//
//	marks.Mark(ctx, "cache.miss", slog.String("key", key))
//	defer marks.Time(ctx, "render").End()
//	ctx, t := marks.Start(ctx, "checkout")
//	defer t.End()
//
// Entries go to the timeline in ctx, the request's or else the process's, and to its observers
// (package observer). With package bridge in the program, marks become events of the OpenTelemetry
// span in ctx, and measures become its child spans. Without package bridge, entries stay on the
// timeline.
//
// # Instrument your library
//
// This package imports only the standard library and needs no set-up. With a bridge, your users see
// your marks in their traces. Without a bridge, your users need not know of the marks. The example
// "Library" is a cache that shows all of these rules.
//
//   - Mark the moments that explain a slow request with [Mark]: a miss, a retry, an empty pool.
//     Time the work that waits or computes with [Time]. Around foreign code, use [Start] and pass
//     the context on: spans and measures of the code become children. Measure a loop as a whole,
//     with its rounds as an attribute.
//   - Names are constant strings with dots, your library's name first ("cache.miss"). Names are
//     part of your API: document them. Varying values belong in attributes.
//   - Attributes are scalars ([slog.String], [slog.Int]) that you already have. Up to four cost no
//     allocation. Other values become text during the call, which takes longer. Attributes leave
//     the process: pass no secrets and nothing of unlimited length.
//   - Take a context and pass the context on. Marks without a request's context go to the process's
//     timeline.
//   - A mark costs one to two readings of the clock, and Time…End two to three, without an
//     allocation. [Start] costs about five, and allocates its context when there is a bridge. Under
//     a span that is not recorded, each call costs less than one reading, unless an observer wants
//     the entries or the request may still be kept. A measure in a histogram of the application
//     costs the readings and the histogram.
//   - [Keep] asks perfline to keep the whole request, for cases that only your code can see. Use
//     Keep rarely: all such requests share one ceiling.
//   - In tests, [github.com/perfline/perfline/observer/observertest.Recorder] returns the marks,
//     with a clock that the test moves.
//
// [Timerify] wraps a function of your users once. A library that logs with a context needs nothing:
// an application that wants the library's warnings in traces puts [NewHandler] before its log's
// handler. Only the application decides that.
//
// # Guarantees
//
//   - Mark, Time, Start and End never block, fail or panic. A nil context counts as an empty
//     context. The functions read values from ctx and ignore its cancellation.
//   - Mark and Time…End allocate nothing with up to four scalar attributes.
//   - The call freezes the attributes, if anything wants the entry: scalars and lists of scalars
//     are copied, and every other value becomes text. The program may change the values afterwards.
//     Package observer has the rules and the bounds.
//   - A panic in a method of an attribute (Error, String) becomes text. A method that blocks delays
//     only its caller.
//   - Under a span that is not recorded, nothing happens unless an observer wants the entries, or
//     the program may still keep the request (see [Keep]). [Measure] then checks its options and
//     returns no entry. A histogram of the application still gets measures.
//
// # Limitations
//
//   - The number of names is not limited: every name reaches the backend.
//   - End of a measure that nothing started does nothing. A measure without an End leaves no trace.
package marks
