// Package observer (stable) is the web's Performance Timeline for Go (W3C Performance Timeline
// Level 2). A timeline is a bounded record of the marks, measures, requests and calls of a process
// or of one request. Any number of observers can watch a timeline.
//
//	tl := observer.FromContext(ctx) // the request's timeline, or the process's
//	obs, err := tl.Observe(func(l observer.List) {
//		for _, e := range l.Entries() {
//			fmt.Println(e.Type(), e.Name(), e.StartTime(), e.Duration())
//		}
//	}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}})
//
// Most programs never import this package. They record with package marks, and package bridge
// carries the entries to a tracing system. [Timeline.Queue] records requests and calls of servers
// and clients that package bridge does not instrument.
//
// # Guarantees
//
//   - Entries, EntriesByName, EntriesByType, TakeRecords, Disconnect and Stats see everything that
//     the calling goroutine recorded before.
//   - An observer receives each entry once, in batches, and never during the recording call. The
//     entries of one goroutine arrive in the order of recording. The methods of [List] sort by
//     start, as the specification requires.
//   - Callbacks run one at a time, in the order of registration and without a lock, on the
//     timeline's delivery goroutine or on that of [TimelineOptions.Scheduler]. A callback that
//     panics is reported, and the other callbacks still run.
//   - Entries that a callback records reach later observers in the same round, and earlier
//     observers in the next round.
//   - Every buffer is bounded. [Stats] counts the entries that do not fit, by type and cause.
//   - All functions and methods may be called concurrently.
//
// # Attributes
//
// Entries freeze their attributes: later changes of the values have no effect, and no method of the
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
// marks.Mark still records the mark: unfrozen attributes get the text "!GOEXIT". marks.MarkAt,
// marks.Measure and Queue then record nothing. A method must not record its own value: that
// recursion never ends.
//
// A conversion stops at 16 levels, 4096 elements and 16 KiB of text for one attribute, and after
// 250 ms for one call. "…" marks the cut, except that a long list becomes text. The clock is read
// between elements. A key is cut at 256 bytes. "<cycle>" marks a value inside itself.
//
// # Limitations
//
//   - Entries reach observers some milliseconds after recording.
//   - Entries of different goroutines are ordered by the clock, not causally.
//   - A slow callback delays the other callbacks of the same process timeline. It never delays
//     recording or the bridge.
//   - The end of a request empties the buffer of its timeline. Observers still receive entries that
//     are recorded later.
//
// # Windows and workers
//
// The specifications speak of global objects. Here, a request's timeline is a Window, and the
// process's timeline is a Worker. A context refers to a request's timeline by its active span, or
// by [NewContext] with a timeline of [Timeline.NewChild]. Each request's timeline has its own
// buffer and its own names. Only a request's timeline has the moments of PerformanceTiming.
//
// Package observertest helps to test code that records and code that observes.
package observer
