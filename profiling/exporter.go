package profiling

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/profiling/profile"
)

// An Exporter profiles the program continuously and sends the profiles to a receiver, such as a
// server. All methods may be called concurrently.
//
// perfline.Start creates the exporter of package pyroscope. Set another exporter, such as the
// result of otlpprofiles.New, in the field ProfileExporter of perfline.Config. A program that does
// not call perfline.Start must call Start and Shutdown of the exporter.
//
// The exporters of packages pyroscope and otlpprofiles share each profile if perfline.Start starts
// both exporters. The pipeline of perfline.Start flushes and shuts down both exporters together.
// Other implementations of Exporter record separate profiles.
type Exporter interface {
	// Start starts profiling until Shutdown. The end of ctx does not end profiling. res describes
	// the service in the profiles. A nil log means slog.Default(). Start also succeeds while the
	// receiver is unreachable. A second call returns an error. If PERFLINE_PROFILING forbids
	// profiling, the error wraps [ErrNotAllowed], and the exporter does not start.
	Start(ctx context.Context, res *resource.Resource, log *slog.Logger) error

	// Flush records profiles now, and waits until all pending profiles are delivered or lost. Flush
	// records no profile of leaked goroutines. The error contains the number of lost profiles and
	// the reason. Before Start and after Shutdown, Flush does nothing.
	//
	// Flush also returns an error in these cases. The undelivered profiles then stay pending:
	//
	//   - ctx ends.
	//   - The exporter gives up. The exporters of perfline give up after three failed attempts in a
	//     row.
	Flush(ctx context.Context) error

	// Shutdown records the last profiles, delivers the pending profiles, closes the connections and
	// stops the exporter. Shutdown records no profile of leaked goroutines. Shutdown gives up in
	// the same cases as Flush. When ctx ends, Shutdown cancels the current request.
	//
	// Shutdown returns an error if a profile since Start was not delivered. The error contains the
	// number of such profiles and the reason. Further calls return the same error. If the ctx of a
	// further call ends first, the further call returns another error. Before Start, Shutdown does
	// nothing.
	Shutdown(ctx context.Context) error

	// Stats returns the counts of profiles since Start. The counts are zero before Start, and final
	// after Shutdown.
	Stats() ExporterStats

	// LastMinute returns the CPU samples of the last minute, up to the last complete interval. The
	// first call returns an empty trace. For five minutes after each call, the exporter stores
	// samples in memory, at most 2^18. Before Start, LastMinute returns nil.
	LastMinute() *profile.Trace
}

// ExporterStats counts the profiles of an [Exporter] since Start. The first six fields are numbers
// of profiles. Accepted always equals Delivered + Refused + Unanswered + Dropped + Pending.
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

// Lost returns the number of lost profiles. Call Lost after Shutdown, because pending profiles also
// count as lost. Profiles that the receiver did not answer also count as lost.
func (s ExporterStats) Lost() uint64 { return s.Accepted - s.Delivered }

// ContinuousStats contains the state and the counts of continuous profiling since Start. All
// exporters of one perfline.Start share the counts.
type ContinuousStats struct {
	Failed uint64 // profiles that failed in the program; not in Accepted

	// PutOff counts profiles of the runtime that were skipped. The exporter skips a profile when
	// profiles of the same kind use more than a hundredth of a processor.
	PutOff uint64

	// The fields below are for the CPU profiler. The CPU profiler restarts after the buffer was
	// full or the engine failed.
	State       State          // Stopped while a restart fails
	Engine      profile.Engine // EngineCPU, or EngineWindow; empty while a restart fails
	Fallback    string         // the reason for EngineWindow; else empty
	LostSamples uint64         // samples that the engine lost
	Gaps        int            // times without samples; a gap across two profiles counts twice
	GapTime     time.Duration  // the length of all gaps
	Restarts    int            // ends and restarts of the CPU profiler
}
