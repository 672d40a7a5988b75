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

// A State is the state of a [Profiler]: [Started], [Paused] or [Stopped]. See JS Self-Profiling,
// States.
type State string

// The states of a profiler.
const (
	Started State = "started" // the profiler takes samples
	Paused  State = "paused"  // other code uses the CPU profiler
	Stopped State = "stopped" // the profiler takes no more samples
)

// A Profiler samples the program's stacks until Stop. The methods may be called concurrently. See
// JS Self-Profiling, The Profiler Interface and Profiling Sessions.
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

// Start starts a profiler. When Start returns, the profiler takes samples. If other code uses the
// runtime's CPU profiler, the new profiler is paused instead. Timestamps count from the origin of
// the timeline in ctx. Without a timeline in ctx, timestamps count from the origin of the process
// timeline.
//
// The profiler ends at the first of these events:
//
//   - The program calls [Profiler.Stop].
//   - The buffer is full.
//   - ctx is done, even before the call of Start.
//
// Stop all profilers before the program calls syscall.Exec. Otherwise signals of the CPU profiler
// end the next program.
//
// An error names the option, the value and the rule. If PERFLINE_PROFILING forbids profiling, the
// error wraps [ErrNotAllowed].
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

// SampleInterval returns the sampling interval in use: the time between two samples. The interval
// of a Wall profiler changes with the cost of sampling.
func (p *Profiler) SampleInterval() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.interval
}

// State returns the current state: [Started], [Paused] or [Stopped].
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

// Stopped reports whether the state is [Stopped]. Stopped returns true as soon as Stop is called.
func (p *Profiler) Stopped() bool { return p.State() == Stopped }

// Engine returns the engine that currently takes the samples. The engine changes when
// [profile.EngineCPU] fails or recovers.
func (p *Profiler) Engine() profile.Engine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engine
}

// Fallback returns the reason why the profiler does not use the best engine. While the best engine
// takes the samples, Fallback returns "". The reason explains one of these cases:
//
//   - [profile.EngineWindow] replaces [profile.EngineCPU].
//   - [profile.EngineWall] reads the slower profiles of runtime/pprof.
func (p *Profiler) Fallback() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fallback
}

// TakeTrace returns the samples since Start or since the last TakeTrace, and empties the buffer.
// The profiler continues to take samples. Use TakeTrace for continuous profiling: each sample is in
// exactly one of the returned traces. While the profiler runs, TakeTrace may return a trace without
// samples and a nil error. After the profiler has ended, TakeTrace returns the same results as
// Stop.
func (p *Profiler) TakeTrace() (*profile.Trace, error) {
	if t := p.takePart(); t != nil {
		return t, nil
	}
	return p.Stop()
}

// Stop ends the profiler and returns all samples that were taken before the call. After a call of
// TakeTrace, Stop returns only the samples since that call. If the buffer was full, Stop returns
// all samples of the buffer. Stop can take some milliseconds. Further calls return the same trace.
// Callers share the trace and must not change the trace.
//
// Stop returns an error in these cases:
//
//   - The engine failed. Stop returns the error of the engine and the trace up to the failure.
//   - The profiler took no sample, and other code used the runtime's CPU profiler at least part of
//     the time. The error wraps [ErrBusy]. BusyTime in [profile.Stats] is the length of this use.
func (p *Profiler) Stop() (*profile.Trace, error) {
	p.stop()
	return p.result, p.err
}
