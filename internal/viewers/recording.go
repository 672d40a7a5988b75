package viewers

import (
	"iter"
	"time"

	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// A recording is the content of a file: a session or one request. Writers read the events once for
// each column, so that memory does not grow with the session.
type recording interface {
	Started() time.Time
	Length() time.Duration
	Stats() sessions.Stats
	Trace() *profile.Trace
	Timelines() []sessions.Timeline
	All(sessions.TimelineID) iter.Seq[sessions.Event]
	Samples(sessions.TimelineID) iter.Seq[profile.Sample]
	Since(profile.Sample) time.Duration
}

var _ recording = (*sessions.Session)(nil)

// earliest returns the zero of a file's times: the start of the earliest timeline or sample since
// s.Started, at most 0.
func earliest(s recording) (zero time.Duration) {
	for _, tl := range s.Timelines() {
		zero = min(zero, tl.Interval.Start)
	}
	if t := s.Trace(); t != nil && len(t.Samples) > 0 {
		zero = min(zero, s.Since(t.Samples[0]))
	}
	return zero
}

// subject returns the kind of a recording, for the title of its file.
func subject(s recording) string {
	if _, ok := s.(*requestRecording); ok {
		return "Request"
	}
	return "Session"
}
