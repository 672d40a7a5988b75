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
// # For authors of libraries
//
// This package imports the standard library only and needs no set-up: without
// a bridge and an observer a mark costs about one reading of the clock. Names
// should be constant strings with dots, as those of metrics are ("cache.miss");
// what varies belongs into attributes.
//
// # What it guarantees
//
//   - Mark, Time, Start and End never block, fail or panic, and a nil context is
//     as good as an empty one. They read values from ctx and ignore whether it
//     is cancelled.
//   - Mark and Time…End allocate nothing with up to [observer.InlineAttrs]
//     attributes.
//   - Attributes are copied at the call; [slog.Any] holds what it is given, and
//     a [slog.LogValuer] is resolved later, on another goroutine.
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
