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
//		events, err := session.Events(ctx, sessions.Query{Timeline: tl.ID, Mode: sessions.ReduceUniqueEvents})
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
//   - A span that has no parent is below no other span: two background jobs are beside each
//     other.
//   - Of what was recorded under a span that no event of its frame is (of another process, or one
//     that has not ended, or one of a provider that takes no span processors), or under none, it is not known what called it. It counts as called by
//     what it lies within most tightly, unless that is or lies in a span that was recorded under the
//     same one. That is a guess: it may have run on another goroutine.
//   - Which goroutine a measure of marks.Time ran on is not known: of two that were made
//     under the same span, one within the other counts as called by it. Give work on
//     further goroutines a span, by marks.Start, to have it told apart.
//   - A measure between two marks (marks.Measure) was on no call stack. Such ones are on
//     timelines of their own, 64 of a frame at most, see [Measure].
//   - What was recorded under a span of the frame that had ended, or that ends before it does, has no
//     parent: it is at the top level, though something caused it.
//
// # Times
//
// All times are since the session began (milliseconds on the wire). An event that began
// before that has a negative start. Event.Time is self time: without the events below, and
// without Overhead, which passes only because somebody profiles. That is what taking a
// sample keeps the code for, labelling goroutines for spans, and recording what nobody else
// wants; each was measured in this program, by the session. Time and Overhead of an event and all
// below add up to the length of its interval, but for events of type Samples.
//
// Which code ran is in these, an estimate: a sample stands for the time since the
// one before, up to the interval, as far as no other event was there. A sampler by the wall clock
// (Wall) sees many goroutines at once. These share the time that they were seen in an event, by their weight,
// so that it still adds up; the groups of different functions then overlap each other.
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
//   - Samples that ran for no span are on a timeline of their own, the process's last, as
//     it is not known what they ran in; a sampler by the wall clock (Wall) sees all
//     goroutines at once, of which one that works for a request may wait for another.
//   - The overhead of Wall samples is not known, and counts as none.
package sessions
