// Package observer is the web's Performance Timeline for Go: a bounded record
// of what happened when in a process or in one request, which any number of
// observers can watch (W3C Performance Timeline Level 2).
//
//	tl := observer.FromContext(ctx) // the request's timeline, or the process's
//	obs, err := tl.Observe(func(l observer.List) {
//		for _, e := range l.Entries() {
//			fmt.Println(e.Type(), e.Name(), e.StartTime(), e.Duration())
//		}
//	}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}})
//
// Most code never imports this package: it records through package marks, and
// a bridge carries the entries to a tracing system.
//
// # What it guarantees
//
//   - Recording never blocks, fails or panics. It takes one short lock: the request's, or one of
//     a buffer that few goroutines share. It allocates nothing for entries with
//     up to [InlineAttrs] scalar attributes, unless a tracer gets them at once.
//   - Attributes are frozen by the call that records them, see [Freeze]. Methods of
//     the program (Error, String, LogValue) run during that call only, on its
//     goroutine and outside every lock. A method that blocks, blocks its caller only.
//   - Whatever reads (Entries, Latest, TakeRecords, Clear, Disconnect, Stats)
//     sees all that the calling goroutine recorded before. When a request has ended, its buffer
//     is empty. Observers still get what is recorded on it later.
//   - An observer receives the entries that one goroutine recorded in the order
//     in which it recorded them, each exactly once, in batches, never during the
//     call that recorded them. TakeRecords keeps that order; within a batch, the
//     methods of [List] sort by start, as the specification says.
//   - Callbacks run one at a time, outside every lock, on a goroutine of the
//     timeline's or where [TimelineOptions.Scheduler] puts them. A callback that
//     panics is reported and the others still run.
//   - A round of callbacks follows the order of registration. Entries that a
//     callback records reach later observers in the same round, and all others
//     in the next one.
//   - Every buffer is bounded. What does not fit is counted by type and cause
//     in [Stats].
//
// # What it does not
//
//   - It promises no latency: entries reach observers some milliseconds later.
//   - It orders entries of different goroutines by the clock, not causally.
//   - It does not forget at once: on the process timeline, what an attribute refers to may stay
//     in memory until the buffer it was written to is used again, or for two
//     garbage collections if it is not.
//   - A slow callback delays other callbacks of the same process timeline, but
//     never recording and never the bridge.
//
// # Windows and workers
//
// The specifications speak of global objects. Here a request timeline is a Window, and the process
// timeline, [Default], is a Worker. The request's timeline is the unit of the span that is active in a context. Without
// such a span it is a timeline that [Timeline.NewChild] made and the context carries. Its entries reach the observers of
// the process timeline too; its buffer, and so its names, are its own. Only a request
// timeline has the moments that PerformanceTiming names: see [Timeline.Timing].
//
// # Units
//
// A unit is a timeline with a journal, for a tracing system that makes spans itself: see [Timeline.NewUnit]. The journal has what finished in
// one unit of work, which the system's [Receiver] gets when the work ends, or earlier in parts. Package bridge uses
// units for its TracerProvider. Other programs do not need them.
//
//   - Each finished span and each measure under a span is handed over once, in a part of its own unit. A span has its marks, the last ones
//     up to [Receiver].MarkLimit.
//   - Clear hides entries from the buffer, not from the receiver.
//   - Marks that do not arrive are counted by cause: [UnitStats], and Overflow in [Stats].
//
// Package observertest helps to test what records and what watches.
package record
