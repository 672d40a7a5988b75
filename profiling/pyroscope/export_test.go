package pyroscope

import (
	"io"
	"time"
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
type Profiler = profiler

// A Snapshot is a kind of profile that a test makes.
type Snapshot struct {
	Kind string
	Take func(io.Writer) error
}

// StartProcess is Start with other profiles.
func StartProcess(c Config, of Process) (*Pusher, error) {
	leaks := func(fitter) *snapshot {
		if of.Leaks == nil {
			return nil
		}
		return &snapshot{kindLeak, of.Leaks}
	}
	return start(c, process{now: of.Now, profiler: of.Profiler, leaks: leaks, snapshots: func(fit fitter) []snapshot {
		all := snapshots(fit)[:of.Runtime]
		for _, s := range of.Snapshots {
			all = append(all, snapshot{s.Kind, s.Take})
		}
		return all
	}})
}

// PushRequest encodes a request.
var PushRequest = pushRequest
