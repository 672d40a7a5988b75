// Package marks is User Timing for Go: it says what happened when, and how long
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
// This package imports the standard library only and needs no set-up: your users
// get your marks in their traces when they have a bridge, and need not know of
// them when they have none. The example "Library" is a cache with all of it.
//
//   - What: the moments that explain a slow request ([Mark]: a miss, a retry, a
//     pool that is empty) and the work that waits or computes ([Time]). Where you
//     call code that is not yours, use [Start] and hand its context on: what that
//     code measures belongs to you then. In a loop, measure the loop, and say in
//     an attribute how often it ran.
//   - Names are constant strings with dots, your library's first ("cache.miss"),
//     as those of metrics are. They are part of your API: document them. What
//     varies belongs in attributes.
//   - Attributes are scalars ([slog.String], [slog.Int]), known already when the
//     call is made. Up to [record.InlineAttrs] cost no allocation. Other values
//     become text at the call, which takes longer. Attributes leave the process: no
//     secrets, nothing of unlimited length.
//   - Context: take one and pass it on. What is marked without a request's goes to
//     the process's timeline.
//   - Costs: a mark one to two readings of the clock, Time…End two to three; they
//     allocate nothing. [Start] costs about five and, when there is a bridge, allocates
//     the context that it returns. Under a span that is not recorded all of them cost
//     less than one reading, unless there is an observer.
//   - Tests: [github.com/perfline/perfline/observer/observertest.Recorder] has
//     what was marked, with a clock that the test moves.
//
// A function that its users hand you can be wrapped once, by [Timerify]. A library
// that logs with a context needs nothing: an application that wants its warnings
// in traces puts [NewHandler] before its log's handler. To do so is the
// application's choice, never a library's.
//
// # What it guarantees
//
//   - Mark, Time, Start and End never block, fail or panic, and a nil context is
//     as good as an empty one. They read values from ctx and ignore whether it
//     is cancelled.
//   - Mark and Time…End allocate nothing with up to [record.InlineAttrs] scalar
//     attributes.
//   - Attributes are frozen at the call, if anything wants the entry: scalars and
//     lists of them are copied, and every other value becomes its text. What they
//     refer to may change afterwards. [record.Freeze] has the rules and the bounds.
//   - A panic in a method of an attribute (Error, String) becomes text. A method that
//     blocks, blocks its caller only.
//   - Under a span that is not recorded nothing is done, unless an observer wants
//     the entries. [Measure] then checks its options and returns no entry.
//
// # What it does not
//
//   - It sets no limit on names: as many different ones as a program makes up
//     reach its backend.
//   - End of a measure that was never started, or of one that was never ended:
//     the first does nothing, the second leaves nothing behind.
package marks
