package continuous

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// The options of the CPU profiler. A sample takes 48 bytes, and a core gives at most one sample
// each 10 ms: the buffer holds the default interval of some hundred cores.
const (
	sampleInterval = 10 * time.Millisecond
	bufferSize     = 1 << 20
)

// A Profiler samples CPU time. A [profiling.Profiler] implements Profiler. Tests use a fake.
type Profiler interface {
	TakeTrace() (*profile.Trace, error)
	Stop() (*profile.Trace, error)
	State() profiling.State
	Engine() profile.Engine
	Fallback() string
}

var _ Profiler = (*profiling.Profiler)(nil)

// A cpuProfile is the CPU profile of the process, cut into parts without gaps. The source's
// goroutine calls the methods, except for status.
type cpuProfile struct {
	start       func(full func()) (Profiler, error)
	full        chan struct{}            // has an item when the profiler's buffer is full
	current     atomic.Pointer[Profiler] // nil after a failed start
	calibration calibration
}

// status returns the state, the engine and the fallback's reason of the profiler.
func (c *cpuProfile) status() (state profiling.State, engine profile.Engine, fallback string) {
	if p := c.current.Load(); p != nil {
		return (*p).State(), (*p).Engine(), (*p).Fallback()
	}
	return profiling.Stopped, "", ""
}

func (c *cpuProfile) begin() error {
	p, err := c.start(func() {
		select {
		case c.full <- struct{}{}:
		default:
		}
	})
	if err != nil {
		c.current.Store(nil)
		return err
	}
	c.current.Store(&p)
	return nil
}

// cut returns the samples since the last cut, also with an error. Unless last is set, it replaces a
// profiler that has ended.
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
	// The profiler stopped before this part, which is then the last one, or after it.
	final, err := p.Stop()
	if final != nil && final != t {
		parts = append(parts, final)
	}
	if failed := c.begin(); failed != nil {
		return parts, false, errors.Join(err, failed)
	}
	return parts, true, err
}
