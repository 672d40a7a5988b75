package pyroscope

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/grafana/pyroscope-go/upstream"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// The session that profiles are cut from. A sample takes 48 bytes, and a core gives at most
// one each 10 ms: the buffer is for some hundred cores through the default interval.
const (
	sampleInterval = 10 * time.Millisecond
	bufferSize     = 1 << 20
)

// A session is a profiler's, which a test can play.
type session interface {
	TakeTrace() (*profile.Trace, error)
	Stop() (*profile.Trace, error)
	State() profiling.State
	Engine() string
	Fallback() string
}

var _ session = (*profiling.Profiler)(nil)

// A cpuProfile is the CPU profile, cut from a session that never ends. It belongs to the
// pusher's goroutine, but for state.
type cpuProfile struct {
	start   func(full func()) (session, error)
	full    chan struct{}           // gets a value when the session has stopped because its buffer is full
	session atomic.Pointer[session] // nil when it could not be started anew
	fit     fitter
}

// state is the session's.
func (c *cpuProfile) state() profiling.State {
	if s := c.session.Load(); s != nil {
		return (*s).State()
	}
	return profiling.Stopped
}

// engine is what samples for the session, and why that is not the best engine.
func (c *cpuProfile) engine() (name, fallback string) {
	if s := c.session.Load(); s != nil {
		return (*s).Engine(), (*s).Fallback()
	}
	return "", ""
}

// begin starts a session.
func (c *cpuProfile) begin() error {
	s, err := c.start(func() {
		select {
		case c.full <- struct{}{}:
		default: // it is known
		}
	})
	if err != nil {
		c.session.Store(nil)
		return err
	}
	c.session.Store(&s)
	return nil
}

// cut takes what was sampled since the last time. When the session has ended it starts
// another, unless it is the last cut. The error is about that: what there was is returned.
func (c *cpuProfile) cut(last bool) (parts []*profile.Trace, restarted bool, err error) {
	current := c.session.Load()
	if current == nil {
		if last {
			return nil, false, nil
		}
		return nil, false, c.begin()
	}
	s := *current
	take := s.TakeTrace
	if last {
		take = s.Stop
	}
	t, err := take()
	if t != nil {
		parts = append(parts, t)
	}
	if last || s.State() != profiling.Stopped {
		return parts, false, err
	}
	// It stopped before the part was taken, which is then its last, or since.
	end, err := s.Stop()
	if end != nil && end != t {
		parts = append(parts, end)
	}
	if again := c.begin(); again != nil {
		return parts, false, errors.Join(err, again)
	}
	return parts, true, err
}

// uploads makes what is sent of a part of the session: none when nothing ran.
func (c *cpuProfile) uploads(t *profile.Trace, end time.Time) ([]*upload, error) {
	if len(t.Samples) == 0 {
		return nil, nil
	}
	p, err := t.Pprof()
	if err != nil {
		return nil, fmt.Errorf("pyroscope: %w", err)
	}
	length := t.Stopped - t.Started
	begin := end.Add(-length)
	p.TimeNanos, p.DurationNanos = begin.UnixNano(), int64(length)
	c.fit.fit(p)
	parts, err := encode(p)
	uploads := make([]*upload, len(parts))
	for i, data := range parts {
		uploads[i] = &upload{kind: "cpu", job: upstream.UploadJob{
			StartTime: begin, EndTime: end, SpyName: spyName, SampleRate: uint32(time.Second / sampleInterval),
			Units: "samples", AggregationType: "sum", Format: upstream.FormatPprof, Profile: data,
		}}
	}
	return uploads, err
}
