// Package sessions (may change) records a program between a start and a stop, and answers queries
// about the recording. The package implements Opera's Scope Profiler 1.0 for Go. A session contains
// trees of events: requests, calls, measures, marks and garbage collections of the program's
// timeline. The sampler adds the code that ran in each event.
//
//	recorder := sessions.NewRecorder(sessions.Config{})
//	defer recorder.Close()
//	id, err := recorder.Start(ctx, sessions.StartOptions{})
//	if err != nil {
//		return err
//	}
//	work(ctx)
//	session, err := recorder.Stop(ctx, id)
//	if err != nil {
//		return err
//	}
//	for _, tl := range session.Timelines() {
//		query := sessions.Query{Timeline: tl.ID, Mode: sessions.ReduceUniqueEvents}
//		events, more, err := session.Events(ctx, query)
//		…
//	}
//
// # Timelines
//
// The specification defines a timeline for each frame of a window. Here the window is the program,
// and a frame is a request of any protocol. A further frame is the process, for events outside
// requests, and another one is the garbage collector. The events of a timeline are a tree of calls:
// a parent was on the call stack when its child began. Concurrent goroutines of a request have
// several call stacks. Therefore a frame gets timelines, with the same FrameID, for overlapping
// events:
//
//   - An event is below an enclosing event if the event was recorded under the enclosing event's
//     span. Measures of marks.Time have no span. An event within such a measure is below the
//     measure if both were recorded under the same span.
//   - A span without a parent is below no other span: concurrent jobs are on several timelines.
//   - If an entry's parent span has no event in this frame, its caller is unknown. The parent may
//     be in another process, may not have ended, or may be unknown to the bridge. The entry is
//     below the tightest event that encloses the entry in time, except siblings under the same
//     parent. This is a guess: the entry may have run on another goroutine.
//   - The goroutine of a marks.Time measure is unknown. Of two such measures under the same span,
//     the outer one counts as the caller of the inner one. To separate the work of further
//     goroutines, start a span for each, by marks.Start.
//   - A measure between two marks (marks.Measure) was on no call stack. A frame has up to 64
//     timelines for such measures: see [Measure].
//   - An entry that outlasts its span, or was recorded after the span's end, is at the top level.
//
// # Times
//
// All times are since the session began, in milliseconds on the wire. An event that began earlier
// has a negative start. Event.Time is self time, without the events below and without Overhead.
//
// Event.Overhead is an estimate of the session's own work: the recorder's average work for each
// entry directly below the event, and Stats.Profiling.SampleCost for each sample. Recorder and
// sampler measure these costs while they work. Overhead is at most the event's own time. Time and
// Overhead of an event and of all events below add up to the length of its interval, except for
// events of type Samples.
//
// Samples events estimate which code ran. A sample stands for the time since the previous sample,
// up to the interval, in which no other event was open. A sampler by the wall clock (Wall) takes
// samples of many goroutines at once. These samples share the time of their event by weight, so
// that times still add up. Groups of different functions then overlap.
//
// # Guarantees
//
//   - Stop ends the recording at once. The session contains all earlier entries of all goroutines.
//   - A session is immutable. All functions and methods may be called concurrently.
//   - Memory is bounded by Config. Stats counts the dropped entries.
//   - Clients outside the program need permission by Config.Policy or PERFLINE_PROFILING.
//   - One goroutine builds a session. The goroutine ends soon after the session is released.
//
// # Limitations
//
//   - A request that runs at the stop has no event: its entries are at the top level.
//   - Samples without a span are on the last timeline of the process. Wall samples show all
//     goroutines at once: a goroutine of a request may wait for another one.
//   - There are no mutex, block and heap profiles of a route or a request: up to Go 1.27, the
//     runtime's records of allocations, contention and blocking lack labels. StartOptions.Process
//     adds profiles of the whole process.
//   - The cost of Wall samples is unknown, and counts as no overhead.
package sessions
