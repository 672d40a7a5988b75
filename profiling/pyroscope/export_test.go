package pyroscope

import (
	"context"
	"io"
	"time"

	"github.com/perfline/perfline/profiling/internal/continuous"
)

// A Process is where the profiles of a test's pusher come from.
type Process struct {
	Now       func() time.Time
	Profiler  func(full func()) (Profiler, error)
	Runtime   int // how many snapshots of the runtime there are: heap, goroutine, mutex, block
	Snapshots []Snapshot
	Leaks     func(io.Writer) error // nil if the runtime has no profile of leaked goroutines
}

// A Profiler is what a pusher needs of a CPU profiler.
type Profiler = continuous.Profiler

// A Snapshot is a kind of profile that a test makes.
type Snapshot struct {
	Kind string
	Take func(io.Writer) error
}

// StartProcess is Start with other profiles.
func StartProcess(c Config, of Process) (*Pusher, error) {
	p := continuous.Process{Now: of.Now, Profiler: of.Profiler, Snapshots: continuous.RuntimeSnapshots()[:of.Runtime]}
	for _, s := range of.Snapshots {
		p.Snapshots = append(p.Snapshots, continuous.Snapshot(s))
	}
	if of.Leaks != nil {
		p.Leaks = &continuous.Snapshot{Kind: continuous.Leak, Take: of.Leaks}
	}
	return start(context.Background(), c, p)
}

// PushRequest encodes a request.
var PushRequest = pushRequest
