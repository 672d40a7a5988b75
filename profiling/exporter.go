package profiling

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/profiling/profile"
)

// An Exporter profiles the program continuously and sends the profiles to a receiver. All methods
// may be called concurrently.
//
// perfline.Start creates the exporter of package pyroscope. Set another exporter, such as the
// result of otlpprofiles.New, in the field ProfileExporter of perfline.Config. A program that does
// not call perfline.Start must call the methods.
//
// The two exporters of perfline.Start share each profile. perfline.Start flushes and shuts down
// both exporters together. An exporter that a program implements records separate profiles.
type Exporter interface {
	// Start starts profiling until Shutdown. The end of ctx does not end profiling. res describes
	// the service in the profiles. A nil log means slog.Default(). Start also succeeds while the
	// receiver is unreachable. A second call returns an error. If PERFLINE_PROFILING forbids
	// profiling, the error wraps [ErrNotAllowed], and the exporter does not start.
	Start(ctx context.Context, res *resource.Resource, log *slog.Logger) error

	// Flush records profiles now, and returns when all pending profiles are delivered or lost.
	// Flush records no profile of leaked goroutines. The error contains the number of lost profiles
	// and the reason. Before Start and after Shutdown, Flush does nothing.
	//
	// Flush also returns an error in these cases, and profiles stay pending:
	//
	//   - ctx ends.
	//   - The exporter stops trying. The exporters of perfline stop after three failed attempts in
	//     a row.
	Flush(ctx context.Context) error

	// Shutdown records the last profiles, delivers the pending profiles, closes the connections and
	// stops the exporter. Shutdown records no profile of leaked goroutines. Shutdown stops trying
	// in the same cases as Flush. When ctx ends, Shutdown cancels the current request.
	//
	// If a profile since Start did not arrive, Shutdown returns an error. The error contains the
	// number of such profiles and the reason. Further calls return the same error. If the ctx of a
	// further call ends first, the further call returns another error. Before Start, Shutdown does
	// nothing.
	Shutdown(ctx context.Context) error

	// Stats returns the counts since Start. The counts are zero before Start, and final after
	// Shutdown.
	Stats() ExporterStats

	// LastMinute returns the CPU samples of the last minute, up to the last complete interval. The
	// first call returns an empty trace. After a call, the exporter stores at most 2^18 samples for
	// five minutes. Each call extends this time. Before Start, LastMinute returns nil.
	LastMinute() *profile.Trace
}

// ExporterStats contains the counts of an [Exporter] since Start. The first six fields count
// profiles. Accepted always equals Delivered + Refused + Unanswered + Dropped + Pending.
type ExporterStats struct {
	Accepted   uint64 // profiles put into the queue
	Delivered  uint64 // the receiver accepted the profile
	Refused    uint64 // the receiver refused the profile, and a retry would not help
	Unanswered uint64 // no clear answer after all attempts: the receiver may store the profile
	Dropped    uint64 // dropped for newer profiles, or the receiver does not support profiles
	Pending    uint64 // profiles in the queue; after Shutdown, profiles that Shutdown abandoned

	PendingBytes int    // size of the pending requests
	Retries      uint64 // attempts to send a profile again

	ContinuousStats // counts of the profiler
}

// Lost returns the number of lost profiles. Call Lost after Shutdown, because pending profiles
// count as lost. Profiles without an answer from the receiver count as lost, too.
func (s ExporterStats) Lost() uint64 { return s.Accepted - s.Delivered }

// ContinuousStats contains the counts of continuous profiling since Start. All exporters of one
// perfline.Start share the counts.
type ContinuousStats struct {
	Failed uint64 // profiles that failed in the program; not in Accepted

	// PutOff counts profiles of the runtime that were skipped. The exporter skips a profile when
	// profiles of the same kind use more than a hundredth of a processor.
	PutOff uint64

	// The fields below describe the CPU profiler. The CPU profiler restarts after the buffer was
	// full or the engine failed.
	State       State          // Stopped while a restart fails
	Engine      profile.Engine // EngineCPU, or EngineWindow; empty while a restart fails
	Fallback    string         // the reason for EngineWindow; else empty
	LostSamples uint64         // samples that the engine lost
	Gaps        int            // times without samples; a gap across two profiles counts twice
	GapTime     time.Duration  // the length of all gaps
	BusyGaps    int            // gaps in which other code in this process used the CPU profiler
	BusyTime    time.Duration  // the length of all busy gaps
	Restarts    int            // ends and restarts of the CPU profiler
}
