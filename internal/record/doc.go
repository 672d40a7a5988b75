// Package record is the engine of the Performance Timeline. A timeline takes entries, and delivers
// them to observers and to a tracing system. Users import package observer to read a timeline, and
// package marks to record marks and measures. Package bridge connects OpenTelemetry.
//
//	tl := record.FromContext(ctx) // the request's timeline, or the process's
//	start := tl.Now()
//	rows, err := query(ctx)
//	tl.Record(record.Resource, "SELECT", start, tl.Now()-start,
//		[]slog.Attr{slog.Int("rows", len(rows))})
//
// # Guarantees
//
//   - Recording never blocks, fails or panics. A call takes one short lock: the request's, or that
//     of a buffer that few goroutines share. An entry with up to [InlineAttrs] scalar attributes
//     costs no allocation, unless a tracer takes the entry at once.
//   - The recording call freezes the attributes: see [Freeze]. A method of the program (Error,
//     String, LogValue) that blocks delays only its caller.
//   - Every buffer is bounded. Stats and [UnitStats] count the entries that do not fit, by cause.
//   - A [Tracer] and a [Receiver] are called without a lock: a Tracer on the goroutine that
//     records, a Receiver mostly on a timer's goroutine.
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
// such as a request. The [Receiver] gets each finished span, with its last marks, and each measure
// under a span once: at the end of the unit, or earlier in parts. Clear removes entries from the
// buffer, not from the journal.
package record
