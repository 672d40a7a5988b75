// Package record is the engine of the Performance Timeline. A timeline stores entries, and delivers
// the entries to observers and to a tracing system. Users import the packages observer and marks.
// Package observer reads a timeline. The functions of package marks record marks and measures.
// Package bridge connects OpenTelemetry.
//
//	tl := record.FromContext(ctx) // the request's timeline, or the process's
//	start := tl.Now()
//	rows, err := query(ctx)
//	tl.Record(record.Resource, "SELECT", start, tl.Now()-start,
//		[]slog.Attr{slog.Int("rows", len(rows))})
//
// # Guarantees
//
//   - Recording never blocks, fails or panics. A call locks one mutex for a short time: the mutex
//     of the request, or of a buffer that few goroutines share. An entry with up to [InlineAttrs]
//     scalar attributes allocates nothing, unless the call passes the entry to a tracer.
//   - The recording call freezes the attributes: see [Freeze]. If a method of the program (Error,
//     String, LogValue) blocks, only the recording goroutine waits.
//   - Every buffer is bounded. Stats and [UnitStats] count the entries that do not fit, by cause.
//   - The timeline calls a [Tracer] and a [Receiver] without a lock. A Tracer runs on the goroutine
//     that records, a Receiver mostly on a timer's goroutine.
//   - All functions and methods may be called concurrently, except for the methods of [Place] and
//     [Finished]: a Place and a Finished belong to one goroutine.
//
// # Limitations
//
//   - Attributes on the process's timeline may stay in memory until their buffer is reused, or for
//     two garbage collections.
//
// # Units
//
// A unit is a timeline with a journal, for a tracing system that makes spans: see
// [Timeline.NewUnit]. The journal holds the marks, measures and finished spans of one unit of work,
// such as a request. The [Receiver] receives each finished span with the last marks of the span,
// and each measure under a span. Each record arrives once, at the end of the unit or earlier in
// parts. Clear removes entries from the buffer, not from the journal.
package record
