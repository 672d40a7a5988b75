package viewers

import (
	"iter"
	"time"

	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// A recorded session, or one request, is what the files are written from. They go through its
// events once for each column of theirs, so that nothing of the size of a session is in memory.
type recorded interface {
	Started() time.Time
	Length() time.Duration
	Stats() sessions.Stats
	Trace() *profile.Trace
	Timelines() []sessions.Timeline
	All(sessions.TimelineID) iter.Seq[sessions.Event]
	Samples(sessions.TimelineID) iter.Seq[profile.Sample]
	Since(profile.Sample) time.Duration
}

var _ recorded = (*sessions.Session)(nil)

// subject returns what a file is about, for its title.
func subject(s recorded) string {
	if _, ok := s.(*recordedRequest); ok {
		return "Request"
	}
	return "Session"
}
