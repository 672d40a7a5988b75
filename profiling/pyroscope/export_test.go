package pyroscope

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// A Process is where the profiles of a test's pusher come from.
type Process struct {
	Now       func() time.Time
	Profiler  func(full func()) (Profiler, error)
	Runtime   int // how many snapshots of the runtime there are: heap, goroutine, mutex, block
	Snapshots []Snapshot
	Leaks     func(io.Writer) error // nil if the runtime has no profile of leaked goroutines

	// Dial makes the connections of the pusher's own HTTP client. nil: by TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// A Profiler is what a pusher needs of a CPU profiler.
type Profiler = continuous.Profiler

// A Snapshot is a kind of profile that a test makes.
type Snapshot struct {
	Kind string
	Take func(io.Writer) error
}

// StartProcess is Start with other profiles.
func StartProcess(c Config, of Process) (*continuous.Exporter, error) {
	var last lastTrace
	p := continuous.Process{Now: of.Now, Clock: last.clock, Spent: free, Snapshots: continuous.RuntimeSnapshots()[:of.Runtime], Profiler: func(full func()) (Profiler, error) {
		profiler, err := of.Profiler(full)
		return timedProfiler{profiler, &last}, err
	}}
	for _, s := range of.Snapshots {
		p.Snapshots = append(p.Snapshots, continuous.Snapshot(s))
	}
	if of.Leaks != nil {
		p.Leaks = &continuous.Snapshot{Kind: continuous.Leak, Take: of.Leaks}
	}
	return start(context.Background(), c, of.Dial, func(context.Context, profiling.Selection) continuous.Process { return p })
}

// StartFree is Start in a process whose profiles take no CPU time: on a busy machine any of them may take long enough to be put off.
func StartFree(ctx context.Context, c Config) (*continuous.Exporter, error) {
	return start(ctx, c, nil, func(ctx context.Context, spans profiling.Selection) continuous.Process {
		of := continuous.ThisProcess(ctx, spans)
		of.Spent = free
		return of
	})
}

func start(ctx context.Context, c Config, dial dialer, of func(context.Context, profiling.Selection) continuous.Process) (*continuous.Exporter, error) {
	e := continuous.NewExporter(receiver(c, dial))
	_, err := continuous.StartExporters(ctx, continuous.Environment{Process: of}, e)
	return e, err
}

// free calls f, which takes no CPU time.
func free(f func()) time.Duration { f(); return 0 }

// A lastTrace has the time at which the last trace stopped, by the clock of traces.
type lastTrace struct{ stopped atomic.Int64 }

func (l *lastTrace) clock() time.Duration { return time.Duration(l.stopped.Load()) }

func (l *lastTrace) note(t *profile.Trace, err error) (*profile.Trace, error) {
	if t != nil {
		l.stopped.Store(int64(t.Stopped))
	}
	return t, err
}

// A timedProfiler is a profiler each of whose traces stops now.
type timedProfiler struct {
	Profiler
	last *lastTrace
}

func (p timedProfiler) TakeTrace() (*profile.Trace, error) {
	return p.last.note(p.Profiler.TakeTrace())
}
func (p timedProfiler) Stop() (*profile.Trace, error) { return p.last.note(p.Profiler.Stop()) }

// PushRequest encodes a request.
var PushRequest = pushRequest
