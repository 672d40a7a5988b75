package lookup

import (
	"iter"

	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// FirstRequest is the FrameID of the first request in a session. Lower ids identify the process and
// the garbage collector.
const FirstRequest uint32 = 3

// Timelines yields the timelines of a session, without allocating a list.
func Timelines(s *sessions.Session) iter.Seq[sessions.Timeline] {
	return func(yield func(sessions.Timeline) bool) {
		for id := sessions.TimelineID(1); ; id++ {
			t, ok := s.Timeline(id)
			if !ok || !yield(t) {
				return
			}
		}
	}
}

// Samples yields the samples of the selected timelines. The parameter in is a function that returns
// true for a selected timeline.
func Samples(s *sessions.Session, in func(sessions.Timeline) bool) iter.Seq[profile.Sample] {
	return func(yield func(profile.Sample) bool) {
		for t := range Timelines(s) {
			if !in(t) {
				continue
			}
			for sample := range s.Samples(t.ID) {
				if !yield(sample) {
					return
				}
			}
		}
	}
}

// CountRequests returns the number of requests that contain a selected timeline. The parameter in
// is a function that returns true for a selected timeline.
func CountRequests(s *sessions.Session, in func(sessions.Timeline) bool) (n int) {
	last := uint32(0)
	for t := range Timelines(s) {
		// The timelines of a frame follow each other.
		if t.FrameID >= FirstRequest && t.FrameID != last && in(t) {
			last = t.FrameID
			n++
		}
	}
	return n
}
