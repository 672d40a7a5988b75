package profiling

import (
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

// ContinuousStats are the counts of a part of perfline that profiles all the time, since its start.
type ContinuousStats struct {
	Failed uint64 // profiles that could not be taken
	PutOff uint64 // profiles of the runtime that were left out, because one of their kind takes more than a hundredth of a processor

	// The CPU profiler. It restarts when its buffer is full or its engine failed.
	State       State          // stopped while a restart fails
	Engine      profile.Engine // EngineCPU, or EngineWindow where that does not work; empty while a restart fails
	Fallback    string         // why Engine is EngineWindow; else empty
	LostSamples uint64         // samples that the engine could not keep
	Gaps        int            // times without samples, as in profile.Stats; one that a cut falls into counts as two
	GapTime     time.Duration  // their length in all
	BusyGaps    int            // gaps in which other code in this process had the CPU profiler
	BusyTime    time.Duration  // their length in all
	Restarts    int            // times that CPU profiling ended and was restarted
}
