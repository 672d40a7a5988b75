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

// The states.
const (
	Started State = "started" // samples are taken
	Paused  State = "paused"  // other code uses the CPU profiler
	Stopped State = "stopped" // for good
)

// A Profiler takes samples until it is stopped (JS Self-Profiling, The Profiler Interface;
// Profiling Sessions). Its methods may be called concurrently.
type Profiler struct {
	// The fields without a guard belong to the hub's goroutine until closed is set, then to
	// makeTrace.

	hub    *hub
	o      Options
	axis   axis                     // of its timeline
	keep   func(*profile.Call) bool // reports whether a call is a frame; nil for all
	part   *part                    // the samples since begun, or since TakeTrace
	thin   thinner
	begun  int64  // by sampling.Now
	from   int64  // when part began: begun, or when the one before was taken
	unhold func() // ends the labelling of spans
	closed bool   // it takes no samples any more
	full   bool   // because it has as many as it may

	listeners listeners

	stopping atomic.Bool
	ended    atomic.Int64 // by sampling.Now, when it was stopped; 0 before
	ready    sync.Mutex   // locked until result and err are there; see hub.do
	result   *profile.Trace
	err      error

	mu       sync.Mutex // guards what follows
	unwatch  func() bool
	finished bool
	engine   profile.Engine
	fallback string // the reason why engine is no better one
	interval time.Duration
	paused   int64 // since when, by sampling.Now; 0 while it is not
	busy     bool  // other code had the CPU profiler since then
	everBusy bool  // busy was set since begun
	sampled  bool  // a sample was taken since begun
	stats    profile.Stats
	// The CPU time that the process used while samples were taken, since from. It goes up to the
	// moment at which the process had used cpuMark in all.
	cpuTime, cpuMark time.Duration
}

// Start begins to sample. When it returns, the profiler samples, or is paused because other code
// uses the CPU profiler. The profiler ends with [Profiler.Stop], when its buffer is full, or when
// ctx is done, which may be so already. Timestamps are since the origin of the timeline in ctx, or
// of the process timeline if there is none.
//
// A program that replaces itself by syscall.Exec has to stop its profilers before: signals of the
// CPU profiler end the next program.
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
		hub: h, o: o, keep: keep, part: newPart(keep), thin: thinner{wall: h.wall},
		axis: axis{timeline: tl}, listeners: listeners{report: (*record.Timeline)(tl)},
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
		p.unwatch = context.AfterFunc(ctx, p.stop)
	}
}

// SampleInterval returns the interval in use. A Wall profiler's interval changes with the cost of
// its ticks.
func (p *Profiler) SampleInterval() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.interval
}

// State returns whether samples are taken.
func (p *Profiler) State() State {
	if p.ended.Load() != 0 {
		return Stopped
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused != 0 {
		return Paused
	}
	return Started
}

// Stopped reports whether the state is [Stopped]. It is as soon as Stop is called.
func (p *Profiler) Stopped() bool { return p.State() == Stopped }

// Engine returns the engine that samples now. It changes when [profile.EngineCPU] fails, or works
// again.
func (p *Profiler) Engine() profile.Engine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engine
}

// Fallback returns the reason why [profile.EngineWindow] samples instead of [profile.EngineCPU], or
// why [profile.EngineWall] takes the slower profiles of runtime/pprof. It returns "" when the
// engine is the best one.
func (p *Profiler) Fallback() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fallback
}

// Stats returns the profiler's counts since Start, or since the last call of [Profiler.TakeTrace].
func (p *Profiler) Stats() profile.Stats { return p.counts() }

// TakeTrace returns what was sampled since Start, or since its last call, and the profiler goes on
// with an empty buffer: for continuous profiling. Each sample is in exactly one trace. A trace
// without samples is no error as long as the profiler goes on. When the profiler has ended,
// TakeTrace is Stop.
func (p *Profiler) TakeTrace() (*profile.Trace, error) {
	if t := p.takePart(); t != nil {
		return t, nil
	}
	return p.Stop()
}

// Stop ends the profiler and returns its trace, with everything sampled before the call. That can
// take some milliseconds. Further calls return the same trace, as does Stop of a profiler whose
// buffer was full. The trace is shared: change a copy.
//
// It fails if the engine did, with the trace up to then. When no sample was taken since Start, and
// other code had the CPU profiler for a part of that time or all of it, the error wraps [ErrBusy].
// [profile.Stats] of the trace says for how long other code had it.
func (p *Profiler) Stop() (*profile.Trace, error) {
	p.stop()
	return p.result, p.err
}
