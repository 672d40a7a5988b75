package pyroscope

import (
	"fmt"
	"strings"
	"time"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// Stats are a Pusher's counts since Start. At every read, Accepted = Delivered + Refused + Unanswered + Dropped + Pending.
type Stats struct {
	Accepted   uint64 // profiles that were given to the queue
	Delivered  uint64 // taken by the server
	Refused    uint64 // turned down by the server for good
	Unanswered uint64 // given up without a clear answer: the server may have them or not
	Dropped    uint64 // dropped because newer ones needed their room in the queue
	Pending    uint64 // waiting; after Shutdown, given up

	PendingBytes int    // bytes of the requests of Pending
	Retries      uint64 // attempts to send a profile again
	Failed       uint64 // profiles that could not be taken in the program; not in Accepted
	PutOff       uint64 // profiles of the runtime that were left out, because one of their kind takes more than a hundredth of a processor

	// The CPU profiler. It restarts when its buffer is full or its engine failed.
	State       profiling.State // stopped while a restart fails
	Engine      profile.Engine  // EngineCPU, or EngineWindow where that does not work; empty while a restart fails
	Fallback    string          // why Engine is EngineWindow; else empty
	LostSamples uint64          // samples that the engine could not keep
	Gaps        int             // times without samples, as in profile.Stats; one that a cut falls into counts as two
	GapTime     time.Duration   // their length in all
	BusyGaps    int             // gaps in which other code in this process had the CPU profiler
	BusyTime    time.Duration   // their length in all
	Restarts    int             // times that CPU profiling ended and was restarted
}

// Lost returns how many profiles did not reach the server, or perhaps did not, once the pusher is shut down.
func (s Stats) Lost() uint64 { return s.Accepted - s.Delivered }

// causes returns the causes of lost profiles, with their counts.
func (s Stats) causes() string {
	var causes []string
	for _, c := range []struct {
		n    uint64
		what string
	}{{s.Refused, "refused"}, {s.Unanswered, "not answered"}, {s.Dropped, "dropped because the queue was full"}, {s.Pending, "given up"}} {
		if c.n > 0 {
			causes = append(causes, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(causes, ", ")
}
