package profiling

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/profiling/profile"
)

// An Exporter profiles the program all the time and sends the profiles. pyroscope.New makes an
// Exporter to a Pyroscope server, which perfline.Start makes itself, and otlpprofiles.New one for
// OTLP. Set that as ProfileExporter of perfline.Config, or call the methods in a set-up of your
// own. All methods may be called concurrently.
//
// perfline.Start takes each profile once for both exporters, and flushes and shuts them down
// together. An exporter that a program implements takes profiles of its own.
type Exporter interface {
	// Start profiles until Shutdown. The profiles describe the service by res. log is the logger;
	// nil means slog.Default(). Profiling does not end with ctx. Start succeeds when the receiver
	// is away. A second Start is an error. The error wraps [ErrNotAllowed] if PERFLINE_PROFILING
	// forbids profiling: then nothing runs.
	Start(ctx context.Context, res *resource.Resource, log *slog.Logger) error

	// Flush takes profiles now, except of leaked goroutines, and returns when all waiting profiles
	// are delivered or lost. The error says how many were lost and why. It is also an error when
	// the exporter gives up, which perfline's exporters do after three failed attempts in a row, or
	// when ctx ends: then profiles still wait. Before Start and after Shutdown, Flush does nothing.
	Flush(ctx context.Context) error

	// Shutdown takes the last profiles, except of leaked goroutines, delivers those that wait,
	// closes the connections and stops. It gives up as Flush does, and cancels the request under
	// way when ctx ends. If any profile since Start did not arrive, the error says how many, and
	// why. Further calls return the same error, or an error when their own context ends before.
	// Before Start, Shutdown does nothing.
	Shutdown(ctx context.Context) error

	// Stats returns the counts since Start. They are zero before Start, and final after Shutdown.
	Stats() ExporterStats

	// LastMinute returns the CPU samples of the last minute, as far as intervals have ended. The
	// first call returns an empty trace. From then on samples stay in memory, at most 2^18, until
	// no call came for five minutes. It returns nil before Start.
	LastMinute() *profile.Trace
}

// ExporterStats are the counts of an [Exporter] since its start. The unit is a profile. At every
// read, Accepted = Delivered + Refused + Unanswered + Dropped + Pending.
type ExporterStats struct {
	Accepted   uint64 // profiles that were given to the queue
	Delivered  uint64 // taken by the receiver
	Refused    uint64 // turned down by the receiver for good
	Unanswered uint64 // given up without a clear answer: the receiver may have them or not
	Dropped    uint64 // newer ones needed their room, or the receiver does not know profiles
	Pending    uint64 // waiting; after Shutdown, given up

	PendingBytes int    // bytes of the requests of Pending
	Retries      uint64 // attempts to send a profile again

	ContinuousStats // how the profiles were taken
}

// Lost returns how many profiles did not reach the receiver, or perhaps did not, once the exporter
// is shut down.
func (s ExporterStats) Lost() uint64 { return s.Accepted - s.Delivered }

// ContinuousStats are the counts of a part of perfline that profiles all the time, since its start.
// Exporters that perfline.Start has started share them.
type ContinuousStats struct {
	Failed uint64 // profiles that could not be taken in the program: no receiver's count has them

	// PutOff counts profiles of the runtime that were left out, because one of their kind takes
	// more than a hundredth of a processor.
	PutOff uint64

	// The CPU profiler. It restarts when its buffer is full or its engine failed.
	State       State          // stopped while a restart fails
	Engine      profile.Engine // EngineCPU, or EngineWindow; empty while a restart fails
	Fallback    string         // why Engine is EngineWindow; else empty
	LostSamples uint64         // samples that the engine could not keep
	Gaps        int            // times without samples; one that a cut falls into counts as two
	GapTime     time.Duration  // the length of all gaps
	BusyGaps    int            // gaps in which other code in this process had the CPU profiler
	BusyTime    time.Duration  // the length of all busy gaps
	Restarts    int            // times that CPU profiling ended and was restarted
}
