package profiling

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/profiling/profile"
)

// An Exporter profiles the program all the time and sends the profiles. perfline.Start makes the
// exporter of package pyroscope itself. Other exporters, such as those of otlpprofiles.New, are the
// field ProfileExporter of perfline.Config; or call the methods in a set-up of your own. All
// methods may be called concurrently.
//
// perfline.Start takes each profile once for both exporters, and flushes and shuts them down
// together. An exporter that a program implements takes its own profiles.
type Exporter interface {
	// Start profiles until Shutdown, also after the end of ctx. The profiles describe the service
	// by res. log is the logger; nil means slog.Default(). Start succeeds when the receiver is
	// away. A second Start is an error. If PERFLINE_PROFILING forbids profiling, the error wraps
	// [ErrNotAllowed] and nothing runs.
	Start(ctx context.Context, res *resource.Resource, log *slog.Logger) error

	// Flush takes profiles now, except of leaked goroutines, and returns when all pending profiles
	// are delivered or lost. The error gives the number of lost profiles and the reason. Flush also
	// fails, with profiles still pending, when ctx ends or when the exporter gives up: perfline's
	// exporters give up after three failed attempts in a row. Before Start and after Shutdown,
	// Flush does nothing.
	Flush(ctx context.Context) error

	// Shutdown takes the last profiles, except of leaked goroutines, delivers the pending ones,
	// closes the connections and stops. It gives up as Flush does, and cancels the current request
	// when ctx ends. If any profile since Start did not arrive, the error gives the number and the
	// reason. Further calls return the same error, or an error when their own ctx ends first.
	// Before Start, Shutdown does nothing.
	Shutdown(ctx context.Context) error

	// Stats returns the counts since Start. They are zero before Start, and final after Shutdown.
	Stats() ExporterStats

	// LastMinute returns the CPU samples of the last minute, up to the last complete interval. The
	// first call returns an empty trace. From then on the exporter keeps at most 2^18 samples in
	// memory, until five minutes after the last call. It returns nil before Start.
	LastMinute() *profile.Trace
}

// ExporterStats are the counts of an [Exporter] since its start. The unit is a profile. At every
// read, Accepted = Delivered + Refused + Unanswered + Dropped + Pending.
type ExporterStats struct {
	Accepted   uint64 // profiles put into the queue
	Delivered  uint64 // accepted by the receiver
	Refused    uint64 // refused by the receiver for good
	Unanswered uint64 // given up without a clear answer: the receiver may have the profile
	Dropped    uint64 // removed for newer profiles, or the receiver does not know profiles
	Pending    uint64 // in the queue; after Shutdown, given up

	PendingBytes int    // size of the pending requests
	Retries      uint64 // attempts to send a profile again

	ContinuousStats // how the profiles were taken
}

// Lost returns the number of profiles that, after Shutdown, did not or may not have reached the
// receiver.
func (s ExporterStats) Lost() uint64 { return s.Accepted - s.Delivered }

// ContinuousStats are the counts of continuous profiling since its start. Exporters that
// perfline.Start starts share them.
type ContinuousStats struct {
	Failed uint64 // profiles that could not be taken in the program, and are in no receiver's count

	// PutOff counts skipped profiles of the runtime, of a kind that takes more than a hundredth of
	// a processor.
	PutOff uint64

	// The CPU profiler. It restarts when its buffer is full or its engine failed.
	State       State          // stopped while a restart fails
	Engine      profile.Engine // EngineCPU, or EngineWindow; empty while a restart fails
	Fallback    string         // why Engine is EngineWindow; else empty
	LostSamples uint64         // samples that the engine lost
	Gaps        int            // times without samples; a gap across two profiles counts twice
	GapTime     time.Duration  // the length of all gaps
	BusyGaps    int            // gaps in which other code in this process had the CPU profiler
	BusyTime    time.Duration  // the length of all busy gaps
	Restarts    int            // ends and restarts of the CPU profiler
}
