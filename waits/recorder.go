package waits

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

// A Recorder finds out what slow requests waited for. Package flight has the implementation, which
// reads execution traces. This interface lets other packages use a recorder without importing the
// reader. Implementations follow these rules:
//
//   - Methods may be called concurrently.
//   - A recorder works for one pipeline, from Start to Shutdown. Results and counts stay readable
//     after Shutdown.
//   - A disarmed recorder without work has no goroutine and no timer.
type Recorder interface {
	// Start is called once, by perfline.Start, before requests come. It arms the recorder if the
	// recorder's configuration asks for it. log gets the recorder's lines, unless the recorder has
	// a logger of its own. A recorder that cannot be armed logs that and reports it in State.
	Start(log *slog.Logger)

	// Slow asks for the result of a request that has just ended. The caller is the goroutine that
	// ended the root span:
	//
	//   - Slow never blocks, fails or panics, and allocates at most once.
	//   - It returns true if a result may come. Then each function that watches is called exactly
	//     once for this root.
	//   - It returns false if no result will come. Stats has the reason.
	Slow(bridge.Root) bool

	// Result returns the result for a request. It returns false if there is none yet, if there will
	// be none, or if newer results have replaced it. All callers share the result: they must not
	// change it.
	Result(trace.TraceID, trace.SpanID) (*Request, bool)

	// Watch calls f for each root for which Slow returned true, as soon as its result is ready. The
	// request is nil if the recorder has given up. Calls come from the recorder's goroutines: two
	// may run at the same time, and one may still run when stop returns. f must return soon and
	// must not call Shutdown. A panic of f is logged.
	Watch(f func(bridge.Root, *Request)) (stop func())

	// Arm records from now on for the duration, and 0 means until Disarm. If the recorder is armed
	// already, the new duration replaces the rest of the old one. The error wraps ErrInUse if other
	// code of the process records.
	Arm(time.Duration) error

	// Disarm stops recording before it returns. It takes a last snapshot if slow requests wait for
	// one, unless an earlier one is being read. Disarm does nothing if the recorder is not armed.
	Disarm()

	// State returns what the recorder does now.
	State() State

	// Stats returns the counts.
	Stats() Stats

	// Shutdown disarms the recorder, gives up requests without a result, and returns when its
	// goroutines have ended or when ctx is over. Then the error says what still runs. Further calls
	// do the same.
	Shutdown(context.Context) error
}

// ErrInUse is wrapped by the error of Arm if other code of the process has a flight recorder. There
// can be only one.
var ErrInUse = errors.New("another flight recorder runs in this process")

// A Status says in one word what a recorder does.
type Status string

// The statuses of a recorder.
const (
	Disarmed  Status = "disarmed"
	Armed     Status = "armed"
	Paused    Status = "paused"    // disarmed, and slow requests will not arm it for a while
	InUse     Status = "in use"    // disarmed: another flight recorder ran at the last call of Arm
	Forbidden Status = "forbidden" // disarmed: the environment forbids profiling
	ShutDown  Status = "shut down"
)

// A State describes what a recorder does.
type State struct {
	Status Status
	Until  time.Time // when Armed or Paused ends; zero for no end
	Auto   bool      // Armed: a slow request armed it. Disarmed: the next slow request will arm it
	Reason string    // a sentence for the page, without a period; empty if the status says it all
}

// Stats count what a recorder did.
type Stats struct {
	Slow uint64 // calls of Recorder.Slow, which is the sum of the next eight

	Analysed uint64 // have a result
	// NotFound are not in their snapshot: the window was too short, or the tracer's notes are
	// missing.
	NotFound uint64
	Failed   uint64 // the snapshot or its analysis failed
	// Abandoned left the window while they waited for a snapshot, or the recorder was disarmed or
	// shut down before.
	Abandoned   uint64
	RateLimited uint64 // refused, because no snapshot may be taken in time
	Dropped     uint64 // refused, because too many waited
	NotArmed    uint64 // refused, because they ended while the recorder was not armed
	Pending     uint64 // wait for their snapshot or its analysis, now

	Snapshots       uint64 // written
	SnapshotsFailed uint64 // could not be written, or were too large
	SnapshotBytes   uint64 // size of all written snapshots
	Panics          uint64 // of the analysis and of functions that watch
	// TooLarge are results kept without their goroutines, which have too many intervals. Causes and
	// sentence stay.
	TooLarge uint64
	// Evicted are results that newer ones replaced, or whose causes alone were too large to keep.
	Evicted     uint64
	Results     uint64 // kept now
	ResultBytes uint64 // their approximate size

	Armed   time.Duration // total time armed
	Writing time.Duration // total time for writing snapshots
	// Analysing is the total CPU time for reading and analysing snapshots. On systems other than
	// Linux, it is the wall time without pauses.
	Analysing time.Duration
}
