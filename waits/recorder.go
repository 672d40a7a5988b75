package waits

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

// A Recorder finds out what slow requests waited for. Package flight implements Recorder by
// execution traces. Other packages use this interface, so that they do not link the reader of
// traces. Implementations follow these rules:
//
//   - Methods may be called concurrently.
//   - A recorder serves one pipeline. Results and counts stay readable after Shutdown.
//   - A disarmed recorder without work runs no goroutine and no timer.
type Recorder interface {
	// Start prepares the recorder. perfline.Start calls Start once, before requests come. Start
	// arms the recorder if the recorder's configuration says so. log receives the recorder's lines,
	// unless the recorder has its own logger. Start logs a failure, and State reports it.
	Start(log *slog.Logger)

	// Slow asks for the result of a request. The caller has just ended the root span:
	//
	//   - Slow never blocks, fails or panics, and allocates at most once.
	//   - Slow returns true if a result may come. Each function of Watch is then called exactly
	//     once.
	//   - Slow returns false if no result will come. Stats counts the reason.
	Slow(bridge.Root) bool

	// Result returns the result for a request. It returns false if the result is not ready, will
	// never come, or gave way to other results. Callers must not change the result.
	Result(trace.TraceID, trace.SpanID) (*Request, bool)

	// Watch calls f for each root for which Slow returned true, as soon as the result is ready. A
	// nil request means that the recorder has given up. The recorder's goroutines call f: two calls
	// may run at the same time, and a call may still run when stop returns. f must return soon and
	// must not call Shutdown. The recorder logs a panic of f.
	Watch(f func(bridge.Root, *Request)) (stop func())

	// Arm records from now on for the duration; 0 means until Disarm. If the recorder is armed
	// already, the new duration replaces the rest of the old one. The error wraps ErrInUse if other
	// code of the process records.
	Arm(time.Duration) error

	// Disarm stops the recording before it returns. If slow requests wait for a snapshot, Disarm
	// takes a last one, unless the recorder still reads an earlier one. A disarmed recorder ignores
	// Disarm.
	Disarm()

	// State returns the recorder's current state.
	State() State

	// Stats returns the recorder's counts.
	Stats() Stats

	// Shutdown disarms the recorder, gives up requests without a result, and waits until its
	// goroutines end. If ctx ends first, the error says what still runs. Further calls do the same.
	Shutdown(context.Context) error
}

// ErrInUse is wrapped by errors of Arm. A process can run one flight recorder, also of other code.
var ErrInUse = errors.New("another flight recorder runs in this process")

// A Status is the state of a recorder in one word.
type Status string

// The statuses of a recorder.
const (
	Disarmed  Status = "disarmed"
	Armed     Status = "armed"
	Paused    Status = "paused"    // disarmed; slow requests do not arm the recorder for a while
	InUse     Status = "in use"    // disarmed: another flight recorder ran at the last call of Arm
	Forbidden Status = "forbidden" // disarmed: the environment forbids profiling
	ShutDown  Status = "shut down"
)

// A State describes the current work of a recorder.
type State struct {
	Status Status
	Until  time.Time // when Armed or Paused ends; zero for no end
	Auto   bool      // armed by a slow request; if Disarmed: the next one arms
	Reason string    // a sentence for the page, without a period; empty if the status says enough
}

// Stats are the counts of a recorder.
type Stats struct {
	Slow uint64 // calls of Recorder.Slow: the sum of the next eight counts

	Analysed uint64 // requests with a result
	// NotFound requests are not in their snapshot: a short window, or missing notes of the tracer.
	NotFound uint64
	Failed   uint64 // requests of a failed snapshot or analysis
	// Abandoned requests left the window while they waited, or the recorder was disarmed before.
	Abandoned   uint64
	RateLimited uint64 // refused: no snapshot is allowed in time
	Dropped     uint64 // too many slower or failed requests waited
	NotArmed    uint64 // refused: the recorder was not armed
	Pending     uint64 // requests that wait for a snapshot or its analysis

	Snapshots       uint64 // written
	SnapshotsFailed uint64 // failed, or too large
	SnapshotBytes   uint64 // size of all written snapshots
	Panics          uint64 // of the analysis and of functions of Watch
	// TooLarge results lost their goroutines, for lack of memory. Causes and sentence stay.
	TooLarge uint64
	// Evicted results gave way to the results of slower requests. Results of requests that have
	// left the program's memory are not counted when they leave.
	Evicted     uint64
	Results     uint64 // stored results
	ResultBytes uint64 // approximate memory of the stored results

	Armed   time.Duration // total time armed
	Writing time.Duration // total time for writing snapshots
	// Analysing is the total CPU time for reading and analysing snapshots. On systems other than
	// Linux, it is wall time without pauses.
	Analysing time.Duration
}
