// Package observer (stable) is the web's Performance Timeline for Go (W3C Performance Timeline
// Level 2). A timeline is a bounded record of the marks, measures, requests and calls of a process
// or of one request. Any number of observers can watch it.
//
//	tl := observer.FromContext(ctx) // the request's timeline, or the process's
//	obs, err := tl.Observe(func(l observer.List) {
//		for _, e := range l.Entries() {
//			fmt.Println(e.Type(), e.Name(), e.StartTime(), e.Duration())
//		}
//	}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}})
//
// Most programs never import this package. They record with package marks, and package bridge
// carries the entries to a tracing system. [Timeline.Queue] records requests and calls that package
// bridge does not know.
//
// # Guarantees
//
//   - Entries, EntriesByName, EntriesByType, TakeRecords, Disconnect and Stats see everything
//     that the calling goroutine recorded before.
//   - An observer receives each entry once, in batches, and never during the call that
//     recorded it. It receives the entries of one goroutine in the order of recording. The
//     methods of [List] sort by start, as the specification requires.
//   - Callbacks run one at a time, in the order of registration and without a lock, on the
//     timeline's delivery goroutine or where [TimelineOptions.Scheduler] puts them. A callback
//     that panics is reported, and the other callbacks still run.
//   - Entries that a callback records reach later observers in the same round, and earlier
//     observers in the next round.
//   - Every buffer is bounded. [Stats] counts the entries that do not fit, by type and cause.
//   - All functions and methods may be called concurrently.
//
// # Attributes
//
// Entries freeze their attributes: later changes of the values do not show, and no method of the
// program is called again.
//
//   - Scalars stay: bool, int64, uint64, float64, string, [time.Duration] and [time.Time]. A string
//     of more than 16 KiB is cut.
//   - []string, []bool, []int64, []float64 and []byte are copied.
//   - Groups stay groups, and their members are frozen. Empty groups and zero attributes are left
//     out, as slog's handlers do.
//   - A [slog.LogValuer] is resolved. The result is frozen by these rules.
//   - Every other value becomes the text that [slog.TextHandler] prints for it, without quotes.
//     encoding.TextAppender comes before encoding.TextMarshaler, as in Go 1.27.
//
// Methods of the program (LogValue, MarshalText, Format, Error, String) run on the goroutine that
// records, without a lock. A panic becomes text, as with slog. If a method calls [runtime.Goexit],
// marks.Mark still records the mark: attributes that were not frozen yet have the text "!GOEXIT".
// marks.MarkAt, marks.Measure and Queue record nothing then. A method must not record the value
// that it belongs to: that recursion has no end.
//
// One attribute is converted up to 16 levels, 4096 elements and 16 KiB of text. A key is cut at 256
// bytes. One call converts for 250 ms, checked between elements. The character "…" stands for the
// rest. A list beyond these bounds becomes text. "<cycle>" stands for a value within itself.
//
// # Limitations
//
//   - Entries reach observers some milliseconds after they were recorded.
//   - Entries of different goroutines are ordered by the clock, not causally.
//   - A slow callback delays the other callbacks of the same process timeline. It never delays
//     recording or the bridge.
//   - The buffer of a request's timeline is empty after the request's end. Observers still
//     receive entries that are recorded on it later.
//
// # Windows and workers
//
// The specifications speak of global objects. Here, a request's timeline is a Window, and the
// process's timeline is a Worker. A context has a request's timeline by its active span, or by
// [NewContext] with a timeline of [Timeline.NewChild]. The buffer of a request's timeline, and so
// its names, are its own. Only a request's timeline has the moments of PerformanceTiming.
//
// Package observertest helps to test code that records and code that observes.
package observer
