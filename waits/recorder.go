package waits

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

// A Recorder reports the waits of slow requests. Package flight implements Recorder with execution
// traces. Other packages use only this interface. Therefore a program without package flight does
// not link the reader of traces.
//
// Implementations follow these rules:
//
//   - Methods may be called concurrently.
//   - A recorder serves one pipeline. Results and counts stay readable after Shutdown.
//   - A disarmed recorder without work runs no goroutine and no timer.
type Recorder interface {
	// Start prepares the recorder. perfline.Start calls Start once, before requests come. Start
	// arms the recorder if the recorder's configuration says so. log receives the recorder's lines;
	// nil means slog.Default(). Start logs a failure, and State reports it.
	Start(log *slog.Logger)

	// Slow submits a slow request for analysis. Call Slow immediately after the end of the root
	// span.
	//
	//   - Slow never blocks, fails or panics. Slow allocates at most once.
	//   - Slow returns true if the recorder accepts the request. The recorder then calls each
	//     function of Watch exactly once for the request.
	//   - Slow returns false if the recorder refuses the request. Stats counts the reason.
	Slow(bridge.Root) bool

	// Result returns the result of a request, or false if the recorder does not store a result. The
	// analysis may have failed or may not have ended. Other results may have replaced the result.
	// Callers must not change the result.
	Result(trace.TraceID, trace.SpanID) (*Request, bool)

	// Watch registers f. The recorder calls f once for each request that Slow accepted, as soon as
	// the result is ready. A nil *Request means that the recorder has no result for the request.
	//
	//   - The recorder's goroutines call f. Two calls of f may run at the same time.
	//   - A call of f may still run when stop returns.
	//   - f must return soon, and must not call Shutdown.
	//   - The recorder logs a panic of f.
	Watch(f func(bridge.Root, *Request)) (stop func())

	// Arm starts the recording for the duration. A duration of 0 means until Disarm. If the
	// recorder is already armed, the new duration replaces the remaining duration. If another
	// flight recorder runs in the process, Arm returns an error that wraps ErrInUse.
	Arm(time.Duration) error

	// Disarm stops the recording, and waits until the recording has stopped. If slow requests wait
	// for a snapshot, Disarm first records a last snapshot. Disarm records no last snapshot while
	// the recorder reads an earlier snapshot. Disarm does nothing if the recorder is not armed.
	Disarm()

	// State returns the recorder's current state.
	State() State

	// Stats returns the counts since the creation of the recorder.
	Stats() Stats

	// Shutdown disarms the recorder, abandons requests without a result, and waits for the end of
	// the recorder's goroutines. If ctx ends first, Shutdown returns an error that names the
	// unfinished work. Further calls wait in the same way.
	Shutdown(context.Context) error
}

// ErrInUse reports that another flight recorder runs in the process. Errors of Arm wrap ErrInUse. A
// process can run only one flight recorder.
var ErrInUse = errors.New("another flight recorder runs in this process")

// A Status names the state of a recorder.
type Status string

// The statuses of a recorder.
const (
	Disarmed  Status = "disarmed"
	Armed     Status = "armed"
	Paused    Status = "paused"    // disarmed; slow requests do not arm the recorder for a while
	InUse     Status = "in use"    // disarmed: another flight recorder ran at the last call of Arm
	Forbidden Status = "forbidden" // disarmed: the environment forbids profiling
)

// A State describes the present state of a recorder.
type State struct {
	// Status names the state.
	Status Status
	// Until is the end of the state Armed or Paused. Until is zero if the state does not end
	// automatically.
	Until time.Time
	// Auto is true in two cases:
	//
	//   - Status is Armed, and a slow request armed the recorder.
	//   - Status is Disarmed, and the next slow request will arm the recorder.
	Auto bool
	// Reason explains the state in a sentence without a period. Reason is empty if Status needs no
	// explanation.
	Reason string
}

// Stats contains the counts of a recorder.
type Stats struct {
	// Slow counts calls of Recorder.Slow. Slow is the sum of the next eight counts.
	Slow uint64

	Analysed uint64 // requests with a result
	// NotFound counts requests that are missing in the snapshot. The window was short, or the
	// snapshot lacks notes of the tracer.
	NotFound uint64
	// Failed counts requests without a result because the snapshot or the analysis failed.
	Failed uint64
	// Abandoned counts accepted requests without a complete analysis. The requests left the window
	// before a snapshot, or Disarm or Shutdown ended the wait.
	Abandoned uint64
	// RateLimited counts refused requests: the recorder may not take a snapshot in time.
	RateLimited uint64
	// Dropped counts requests that gave way: too many failed or slower requests waited.
	Dropped uint64
	// NotArmed counts refused requests: the recorder was not armed.
	NotArmed uint64
	Pending  uint64 // requests that wait for a snapshot or for the analysis

	Snapshots       uint64 // written snapshots
	SnapshotsFailed uint64 // snapshots that failed or were too large
	SnapshotBytes   uint64 // size of all written snapshots
	Panics          uint64 // panics of the analysis and of functions of Watch
	// TooLarge counts results that the recorder stores without goroutines, for lack of memory. The
	// causes and the sentence are complete.
	TooLarge uint64
	// Evicted counts results that gave way to the results of slower requests. Evicted excludes the
	// results of requests that had left the program's memory before.
	Evicted     uint64
	Results     uint64 // stored results
	ResultBytes uint64 // approximate memory of the stored results

	Armed   time.Duration // total time armed
	Writing time.Duration // total time for writing snapshots
	// Analysing is the total CPU time for reading and analysing snapshots. On systems other than
	// Linux, Analysing is elapsed time without pauses.
	Analysing time.Duration
}
