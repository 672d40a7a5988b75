package profiling

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/remote"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
)

// A State is the state of a profiler (JS Self-Profiling, States).
type State string

const (
	Started State = "started" // samples are taken
	Paused  State = "paused"  // other code uses the CPU profiler
	Stopped State = "stopped" // for good
)

// A Profiler takes samples until Stop (JS Self-Profiling, The Profiler Interface; Profiling
// Sessions). Its methods may be called concurrently.
type Profiler struct {
	// The hub's goroutine owns the fields up to full. makeTrace owns them after closed is set.

	hub           *hub
	o             Options
	axis          axis                     // converts times to the timeline
	keep          func(*profile.Call) bool // whether a call becomes a frame; nil for all calls
	part          *part                    // the samples since partStart
	thin          thinner
	startedAt     int64  // by sampling.Now; 0 before the first sample may come
	partStart     int64  // by sampling.Now: Start or the last TakeTrace
	releaseLabels func() // ends the labelling of spans
	closed        bool   // no further samples are taken
	full          bool   // closed because the buffer is full

	listeners listeners

	stopping atomic.Bool
	endedAt  atomic.Int64 // by sampling.Now; 0 until the profiler is stopped or full
	ready    sync.Mutex   // locked until result and err are set; see hub.do
	result   *profile.Trace
	err      error

	mu        sync.Mutex // guards the fields below
	stopWatch func() bool
	finished  bool
	engine    profile.Engine
	fallback  string // see Fallback
	interval  time.Duration
	pausedAt  int64 // when the gap began, by sampling.Now; 0 outside gaps
	busy      bool  // other code had the CPU profiler in this gap
	everBusy  bool  // busy was set since Start
	sampled   bool  // a sample was taken since Start
	stats     profile.Stats
	cpuTime   time.Duration // the process's since partStart, without gaps, up to cpuMark
	cpuMark   time.Duration // the process's CPU time when cpuTime was last counted
}

// Start begins to sample. When it returns, the profiler samples, or is paused because other code
// uses the CPU profiler. The profiler ends with [Profiler.Stop], when its buffer is full, or when
// ctx is done, also if ctx is done already. Timestamps are since the origin of the timeline in ctx,
// or else of the process timeline.
//
// A program that replaces itself by syscall.Exec must stop its profilers first: signals of the CPU
// profiler end the next program.
//
// Errors name the option, its value and the rule. They wrap [ErrNotAllowed] if PERFLINE_PROFILING
// forbids profiling.
func Start(ctx context.Context, o Options) (*Profiler, error) {
	if err := permission.Check(); err != nil {
		return nil, err
	}
	o, err := o.fill()
	if err != nil {
		return nil, err
	}
	keep, err := remote.Filter(modules.Read(), o.Modules)
	if err != nil {
		return nil, err
	}
	h := cpu
	if o.Wall {
		h = wallClock
	}
	p := newProfiler(h, o, observer.FromContext(ctx), keep)
	if err := h.attach(p); err != nil {
		return nil, err
	}
	p.watch(ctx)
	return p, nil
}

func newProfiler(h *hub, o Options, tl *observer.Timeline,
	keep func(*profile.Call) bool) *Profiler {
	p := &Profiler{
		hub: h, o: o, keep: keep, part: &part{build: profile.NewBuilder(keep)},
		thin: thinner{wall: h.wall}, axis: axis{timeline: tl},
		listeners: listeners{report: (*record.Timeline)(tl)},
	}
	p.ready.Lock()
	p.axis.read()
	return p
}

// watch stops the profiler when ctx is done.
func (p *Profiler) watch(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.finished {
		p.stopWatch = context.AfterFunc(ctx, p.stop)
	}
}

// SampleInterval returns the interval in use. A Wall profiler's interval changes with the cost of
// its ticks.
func (p *Profiler) SampleInterval() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.interval
}

// State returns [Started], [Paused] or [Stopped].
func (p *Profiler) State() State {
	if p.endedAt.Load() != 0 {
		return Stopped
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pausedAt != 0 {
		return Paused
	}
	return Started
}

// Stopped reports whether the state is [Stopped]: from the call of Stop on.
func (p *Profiler) Stopped() bool { return p.State() == Stopped }

// Engine returns the engine in use. The engine changes when [profile.EngineCPU] fails, or works
// again.
func (p *Profiler) Engine() profile.Engine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engine
}

// Fallback returns the reason why [profile.EngineWindow] samples instead of [profile.EngineCPU], or
// why [profile.EngineWall] takes the slower profiles of runtime/pprof. It returns "" while the best
// engine samples.
func (p *Profiler) Fallback() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fallback
}

// TakeTrace returns the samples since Start or the last TakeTrace, for continuous profiling. The
// profiler continues with an empty buffer. Each sample is in exactly one trace. While the profiler
// runs, a trace without samples is no error. After the profiler's end, TakeTrace is Stop.
func (p *Profiler) TakeTrace() (*profile.Trace, error) {
	if t := p.takePart(); t != nil {
		return t, nil
	}
	return p.Stop()
}

// Stop ends the profiler and returns its trace, with all samples from before the call. That can
// take some milliseconds. Further calls return the same trace, as does Stop of a profiler whose
// buffer was full. Callers share the trace and must not change it.
//
// When the engine failed, Stop returns its error, and the trace up to the failure. When the
// profiler took no sample, and other code had the CPU profiler for any part of the time, the error
// wraps [ErrBusy]. [profile.Stats] of the trace says for how long.
func (p *Profiler) Stop() (*profile.Trace, error) {
	p.stop()
	return p.result, p.err
}
