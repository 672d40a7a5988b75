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
//   - Recording never blocks, fails or panics. It takes one short lock of a
//     buffer that few goroutines share, and allocates nothing for entries with
//     up to [InlineAttrs] scalar attributes.
//   - Attributes are frozen by the call that records them, see [Freeze]. Methods of
//     the program (Error, String, LogValue) run during that call only, on its
//     goroutine and outside every lock. A method that blocks, blocks its caller only.
//   - Whatever reads (Entries, Latest, TakeRecords, Clear, Disconnect, Stats)
//     sees all that the calling goroutine recorded before on a timeline that is
//     not closed.
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
//   - It does not forget at once: what an attribute or a scope refers to may stay
//     in memory until the buffer it was written to is used again, or for two
//     garbage collections if it is not.
//   - A slow callback delays other callbacks of the same process timeline, but
//     never recording and never the bridge.
//
// # Windows and workers
//
// The specifications speak of global objects. Here a request timeline, made by
// [Timeline.NewChild] and carried in a context, is a Window, and the process
// timeline, [Default], is a Worker. A child's entries reach the observers of
// its parent too; its buffer, and so its names, are its own. Only a request
// timeline has the moments that PerformanceTiming names: see [Timeline.Timing].
//
// # Units
//
// A [Unit] is the journal of a request's finished spans, for a tracing system that makes spans itself. Package bridge uses
// it for its TracerProvider. Other programs do not need it.
//
// Package observertest helps to test what records and what watches.
package observer
