// Package sessions (may change) records what a program does between a start and a stop, and answers
// queries about it afterwards. It is Opera's Scope Profiler 1.0 for Go. A session has requests,
// calls, measures, marks and garbage collections as trees of events, from the program's timeline,
// and the code that ran in each event, from the sampler.
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
// The specification has a timeline for each frame of a window. Here the window is the program, and
// a frame is a request of any protocol. The process has a frame for what belongs to no request, and
// the garbage collector has one. The events of a timeline are a tree of calls: a parent was on the
// call stack when its child began. Goroutines of a request that run at the same time have several
// call stacks. So a frame has further timelines with the same FrameID for events that overlap:
//
//   - An event is below another one if it lies within that in time and was recorded under its span.
//     Measures of marks.Time have no span: an event within one is below it if both were recorded
//     under the same span.
//   - A span without a parent is below no other span. Two background jobs are on two timelines.
//   - If an entry's parent span has no event in this frame, its caller is unknown. The parent may
//     be in another process, may not have ended, or may be unknown to the bridge. The entry is
//     below the tightest event that encloses it in time, except siblings under the same parent.
//     This is a guess: the entry may have run on another goroutine.
//   - The goroutine of a marks.Time measure is unknown. Of two such measures under the same span,
//     one within the other counts as called by it. Give work on further goroutines a span, by
//     marks.Start, to tell it apart.
//   - A measure between two marks (marks.Measure) was on no call stack. A frame has up to 64
//     timelines for such measures, see [Measure].
//   - An entry that was recorded under a span that had ended, or that ends before the entry does,
//     is at the top level.
//
// # Times
//
// All times are since the session began, in milliseconds on the wire. An event that began before
// has a negative start. Event.Time is self time, without the events below and without Overhead.
//
// Event.Overhead is an estimate of the time that the session itself took, from counts:
// [Stats].EntryCost for each entry directly below the event, and Stats.Profiling.SampleCost for
// each sample. Recorder and sampler measure both while they work. Overhead is at most the event's
// own time. Time and Overhead of an event and of all events below add up to the length of its
// interval, except for events of type Samples.
//
// Samples events say which code ran, as an estimate. A sample stands for the time since the one
// before, up to the interval, in which no other event was open. A sampler by the wall clock (Wall)
// takes samples of many goroutines at once. They share the time of their event by their weight, so
// that times still add up; groups of different functions then overlap.
//
// # Guarantees
//
//   - Stop ends the recording at once. The session has what was recorded before, on any goroutine.
//   - A session is immutable. All functions and methods may be called concurrently.
//   - Memory is bounded by Config. Stats counts what did not fit.
//   - Clients outside the program cannot start, see or release a session unless Config.Policy or
//     PERFLINE_PROFILING allows it.
//   - A session is built on one goroutine, which the scheduler preempts like any other. It ends
//     soon after the session is released.
//
// # Limitations
//
//   - A request that runs at the stop has no event, because it has not ended. Its entries so far
//     are at the top level of its timeline.
//   - Samples without a span are on the last timeline of the process. Wall samples show all
//     goroutines at once: one that works for a request may wait for another.
//   - There are no mutex, block and heap profiles of a route or a request: up to Go 1.27, the
//     runtime's records of allocations, contention and blocking have no labels.
//     StartOptions.Process adds them for the whole process.
//   - The cost of Wall samples is unknown, and counts as no overhead.
package sessions
