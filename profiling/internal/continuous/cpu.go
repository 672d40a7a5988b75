package continuous

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// The options of the CPU profiler. A sample takes 48 bytes, and a core gives at most one each 10
// ms: the buffer is for some hundred cores through the default interval.
const (
	sampleInterval = 10 * time.Millisecond
	bufferSize     = 1 << 20
)

// A Profiler samples the CPU. Tests have one of their own.
type Profiler interface {
	TakeTrace() (*profile.Trace, error)
	Stop() (*profile.Trace, error)
	State() profiling.State
	Engine() profile.Engine
	Fallback() string
}

var _ Profiler = (*profiling.Profiler)(nil)

// A cpuProfile is the CPU profile of the process, cut into parts without gaps. It belongs to the
// source's goroutine, except for status.
type cpuProfile struct {
	start func(full func()) (Profiler, error)
	// has a value when the profiler has stopped because its buffer is full
	full chan struct{}
	// nil when the last one ended and no other could be started
	current     atomic.Pointer[Profiler]
	calibration calibration
}

// status returns the profiler's state, the engine that samples, and why it is not the best one.
func (c *cpuProfile) status() (state profiling.State, engine profile.Engine, fallback string) {
	if p := c.current.Load(); p != nil {
		return (*p).State(), (*p).Engine(), (*p).Fallback()
	}
	return profiling.Stopped, "", ""
}

// begin starts a profiler.
func (c *cpuProfile) begin() error {
	p, err := c.start(func() {
		select {
		case c.full <- struct{}{}:
		default: // it has one already
		}
	})
	if err != nil {
		c.current.Store(nil)
		return err
	}
	c.current.Store(&p)
	return nil
}

// cut returns the samples since the last cut. It restarts a profiler that has ended, except at the
// last cut. With an error it also returns the samples that there were.
func (c *cpuProfile) cut(last bool) (parts []*profile.Trace, restarted bool, err error) {
	current := c.current.Load()
	if current == nil {
		if last {
			return nil, false, nil
		}
		return nil, false, c.begin()
	}
	p := *current
	take := p.TakeTrace
	if last {
		take = p.Stop
	}
	t, err := take()
	if t != nil {
		parts = append(parts, t)
	}
	if last || p.State() != profiling.Stopped {
		return parts, false, err
	}
	// It stopped before this part, which is then its last one, or after it.
	final, err := p.Stop()
	if final != nil && final != t {
		parts = append(parts, final)
	}
	if failed := c.begin(); failed != nil {
		return parts, false, errors.Join(err, failed)
	}
	return parts, true, err
}
