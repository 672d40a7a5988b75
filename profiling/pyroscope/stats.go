package pyroscope

import (
	"fmt"
	"strings"
	"time"

	"github.com/perfline/perfline/profiling"
)

// Stats are a Pusher's counts since Start. Of profiles, Accepted = Sent + Refused +
// Unanswered + Overflow + Pending.
type Stats struct {
	Accepted   uint64 // profiles that were to be delivered
	Sent       uint64 // taken by the server
	Refused    uint64 // turned down by the server for good
	Unanswered uint64 // sent, but the answer did not come in time: the server may have them or not
	Overflow   uint64 // given up because newer ones needed their room in the queue
	Pending    uint64 // waiting; after Shutdown, given up

	PendingBytes int    // what Pending takes of the queue
	Retries      uint64 // how often a profile was sent again
	Failed       uint64 // profiles that could not be taken in the program, which are not in Accepted

	// Of the CPU session: samples that the engine could not keep, and how often and how long
	// in all it sampled nothing, as in profile.Stats. BusyGaps and BusyTime are the part of these
	// in which other code in this process had the CPU profiler. A gap that an upload falls into
	// counts as two. Restarts is how often the session ended, because it was full or its engine failed, and
	// was started anew; State is stopped while that fails.
	State       profiling.State
	Engine      string // what samples: "cpu", or "window" where that does not work; empty when the session could not be started anew
	Fallback    string // why "window" samples; empty when it does not
	LostSamples uint64
	Gaps        int
	GapTime     time.Duration
	BusyGaps    int
	BusyTime    time.Duration
	Restarts    int
}

// Lost is how many profiles will never arrive, or perhaps not, once the pusher is shut
// down.
func (s Stats) Lost() uint64 { return s.Accepted - s.Sent }

// causes says why profiles were lost.
func (s Stats) causes() string {
	var causes []string
	for _, c := range []struct {
		n    uint64
		what string
	}{{s.Refused, "refused"}, {s.Unanswered, "not answered"}, {s.Overflow, "dropped for want of room in the queue"}, {s.Pending, "given up"}} {
		if c.n > 0 {
			causes = append(causes, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(causes, ", ")
}
