package waiting

import (
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/waits"
)

// A Reason says why a request has no result of the waits recorder. The page, its JSON, the agents'
// tools and waterfalls print a Reason as it is. The zero Reason says nothing.
type Reason string

// The reasons.
const (
	NoRecorder  Reason = "the program has no waits recorder"
	NotSlow     Reason = "the request was not slow"
	Earlier     Reason = "the request is of an earlier process"
	NotArmed    Reason = "the waits recorder was not armed yet when the request ended"
	NotAnyMore  Reason = "the waits recorder was disarmed when the request ended"
	RateLimited Reason = "rate limited: the request would leave the window before flight.Config.MinInterval allows a snapshot"
	GaveWay     Reason = "too many slower or failed requests waited for the same snapshot"
	Waiting     Reason = "the request waits for its analysis"
	LeftWindow  Reason = "the request left the window before a snapshot could be taken"
	OverBudget  Reason = LeftWindow +
		": analyses had used the CPU time that flight.Config.MaxCPU allows"
	Analysing Reason = LeftWindow +
		": flight.Config.MaxCPU slows the analysis of an earlier snapshot"
	TooOld     Reason = LeftWindow + ": flight.Config.MinAge is the length of the window"
	OverBytes  Reason = LeftWindow + ": flight.Config.MaxBytes limited the window"
	Disarmed   Reason = "the waits recorder was disarmed before the analysis"
	NotInTrace Reason = "the request is not in the trace"
	Failed     Reason = "the snapshot of the execution trace, or its analysis, failed"
	LessSlow   Reason = "evicted: the results of slower requests needed the room"
	Gone       Reason = "evicted: the request had left memory, and other results needed the room"
	TooLarge   Reason = "evicted: the causes alone need too much room"
	NotStored  Reason = "the waits recorder stores no results"
	Forgotten  Reason = "evicted or refused: the waits recorder does not remember more"
	Unknown    Reason = "the waits recorder has no result for the request"
)

// Paused returns the reason of requests that end before a time. Until then, flight.Config.Auto does
// not arm the recorder again.
func Paused(until time.Time) Reason {
	return Reason("the waits recorder paused until " + clock(until) +
		": flight.Config.Auto arms the recorder for a minute, and then not for 5 minutes")
}

// Unarmed returns the reason of requests that end before a time. The recorder could not be armed,
// and does not try before the time.
func Unarmed(until time.Time) Reason {
	return Reason("the waits recorder could not be armed, and tries again after " + clock(until) +
		": the log has the error")
}

func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) + " UTC" }

// A Recorder is a [waits.Recorder] with more for other packages of this module. The recorder of
// package flight is a Recorder, and the recorder of a program may be one.
type Recorder interface {
	// SetHeld gives the recorder a function that reports which requests are in memory. Results of
	// these requests are evicted last. The recorder calls the function without a lock.
	SetHeld(func([]local.ID) []bool)

	// Missing returns the reason why a request that ended at a time has no result.
	Missing(id local.ID, end time.Time) Reason
}

// Missing returns the reason why a request that ended at a time has no result. The recorder may be
// nil.
func Missing(r waits.Recorder, id local.ID, end time.Time) Reason {
	if r == nil {
		return NoRecorder
	}
	if r, ok := r.(Recorder); ok {
		return r.Missing(id, end)
	}
	return Unknown
}

// Dropped returns the words for a result without its details, or "" for other results.
func Dropped(r *waits.Request) string {
	if len(r.Goroutines) > 0 || r.Omitted == 0 {
		return ""
	}
	return "too large: the details were dropped, the causes stay"
}
