// Package record is the engine of the Performance Timeline: it takes entries, and hands them to
// observers and to a tracing system. Package observer is the same timeline for users, and
// package marks records marks and measures. Import record to record entries of another type, or
// to connect a tracing system.
//
//	tl := record.FromContext(ctx) // the request's timeline, or the process's
//	start := tl.Now()
//	rows, err := query(ctx)
//	tl.Record(record.Resource, "SELECT", start, tl.Now()-start, []slog.Attr{slog.Int("rows", len(rows))})
//
// # Guarantees
//
//   - Recording never blocks, fails or panics. It takes one short lock: the request's, or one of
//     a buffer that few goroutines share. It allocates nothing for an entry with up to
//     [InlineAttrs] scalar attributes, unless a tracer gets the entry at once.
//   - The recording call freezes the attributes: see [Freeze]. A method of the program (Error,
//     String, LogValue) that blocks delays only its caller.
//   - Every buffer is bounded. Stats and [UnitStats] count the entries that do not fit, by cause.
//   - A [Tracer] and a [Receiver] are called without a lock: a Tracer on the goroutine that
//     records, a Receiver mostly on a timer's goroutine.
//   - All functions and methods may be called concurrently, except the
//     methods of [Place] and [Finished], which belong to one goroutine.
//
// # Limitations
//
//   - On the process's timeline, values of attributes may stay in memory until their buffer is
//     used again, or for two garbage collections.
//
// # Units
//
// A unit is a timeline with a journal, for a tracing system that makes spans itself: see
// [Timeline.NewUnit]. The journal holds the marks, measures and finished spans of one unit of
// work, such as a request. The [Receiver] gets each finished span, with its last marks, and each
// measure under a span once: when the work ends, or earlier in parts. Clear hides entries from the
// buffer, not from the receiver.
package record
