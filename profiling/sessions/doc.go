// Package sessions records what a program did between a start and a stop, and answers
// questions about it afterwards. It is Opera's Scope Profiler 1.0 for Go: what happened
// (requests, calls, measures, marks, collections of garbage) as trees of events, from the
// timeline, with the code that ran in each, from the sampler.
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
//		events, err := session.Events(sessions.Query{Timeline: tl.ID, Mode: sessions.ReduceUniqueEvents})
//		…
//	}
//
// # Timelines
//
// The specification has a timeline for each frame of a window. Here the window is the
// program and a frame is a request, whatever its protocol; what belongs to no request is
// the process's own frame, and collections of garbage have one, too. Events of one
// timeline form a tree by call containment: a parent was on the call stack when its child
// began. What a request's goroutines do at the same time cannot be one call stack, so
// that a frame has further timelines, with the same FrameID, for what overlaps:
//
//   - An event is below another one if it lies within it and was recorded under its span,
//     or under the same span as a measure of marks.Time, which has none.
//   - Which goroutine a measure of marks.Time ran on is not known: of two that were made
//     under the same span, one within the other counts as called by it. Give work on
//     further goroutines a span, by marks.Start, to have it told apart.
//   - There is no parent for what was caused by something that had ended.
//
// # Times
//
// Time is a time.Duration since the session began (milliseconds on the wire). An event
// that began before that has a negative start. Event.Time is self time, without the events below and
// without Overhead, which is time that passed only because somebody profiles: taking
// samples, and recording what nobody but the session wants. Both are measured
// when the session starts. Time of a timeline's events, with overhead, adds up to the time its top
// level took.
//
// # What it guarantees
//
//   - Stop ends the recording at once. What was recorded before it on any goroutine is in
//     the session.
//   - A session is immutable. All functions and methods may be called concurrently.
//   - Memory is bounded by Config; what does not fit is counted in Stats.
//   - Nobody outside the program can start a session, see or release one unless
//     Config.Policy or PERFLINE_PROFILING allows it.
//
// # What it does not
//
//   - A request that is under way at the stop has no event of its own, as it has not
//     ended: what it did until then is at the top level of its timeline.
//   - Which code ran when is an estimate from samples: see [Samples].
package sessions
