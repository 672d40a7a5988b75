package profiling

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// Options configures [Start] (JS Self-Profiling, The ProfilerInitOptions
// Dictionary).
type Options struct {
	// SampleInterval is the time between samples. What is used is this or the next
	// shorter interval that the engine supports, and its shortest when there is none or
	// when it is 0: with "cpu" the kernel's tick, often 4 ms. [Profiler.SampleInterval]
	// tells. It must not be negative. 10 ms is a good choice.
	SampleInterval time.Duration

	// MaxBufferSize is how many samples the session may take, 1 to 2³²-1. It stops
	// when it has that many. A sample takes 48 bytes.
	MaxBufferSize int

	// OnSampleBufferFull is called, on a goroutine of its own, when the session has
	// stopped because it has MaxBufferSize samples (samplebufferfull). It may call Stop.
	OnSampleBufferFull func(*Profiler)

	// Modules are the modules whose frames are kept: [ModuleMain], [ModuleStandard] or
	// paths; empty means all. Frames of others are left out of the stacks, and a
	// sample that has no other frames has no stack.
	Modules []string

	// Scope is which spans the samples name: [spanlabels.EverySpan], which 0 means, or
	// [spanlabels.LocalRoots].
	Scope spanlabels.Scope

	// Wall samples all goroutines by the wall clock, those that wait included, instead of
	// the code that runs by the CPU's.
	Wall bool

	// WallBudget is the share of one core that a Wall session may cost, over 0 to 1; 0
	// means 0.01. Of several sessions the smallest counts.
	WallBudget float64
}

// A State is the state of a session (JS Self-Profiling, States).
type State string

// The states.
const (
	Started State = "started" // samples are taken
	Paused  State = "paused"  // other code uses the CPU profiler
	Stopped State = "stopped" // for good
)

// A Profiler is a session that samples, or did (JS Self-Profiling, The Profiler
// Interface). Its methods may be called concurrently.
type Profiler struct{ s *session }

// Start begins a session, which samples when Start returns, or is paused because
// other code uses the CPU profiler. It ends with [Profiler.Stop], when its buffer
// is full or when ctx is over, which it may be already. Timestamps are since the origin of the timeline in
// ctx, of the process timeline if there is none.
//
// Errors name the option, its value and the rule; they wrap [ErrNotAllowed] if who
// runs the program forbade profiling.
func Start(ctx context.Context, o Options) (*Profiler, error) {
	if _, err := environment(); err != nil {
		return nil, err
	}
	if o.SampleInterval < 0 {
		return nil, fmt.Errorf("profiling: SampleInterval %v: must not be negative", o.SampleInterval)
	}
	if o.MaxBufferSize < 1 || int64(o.MaxBufferSize) > math.MaxUint32 {
		return nil, fmt.Errorf("profiling: MaxBufferSize %d: must be between 1 and %d", o.MaxBufferSize, uint32(math.MaxUint32))
	}
	if !(o.WallBudget >= 0 && o.WallBudget <= 1) {
		return nil, fmt.Errorf("profiling: WallBudget %v: must be over 0 and at most 1, the share of a core", o.WallBudget)
	}
	if o.Scope > spanlabels.LocalRoots {
		return nil, fmt.Errorf("profiling: Scope %d: must be EverySpan (%d), LocalRoots (%d) or 0", o.Scope, spanlabels.EverySpan, spanlabels.LocalRoots)
	}
	keep, err := readModules().filter(o.Modules)
	if err != nil {
		return nil, err
	}
	h := cpu
	if o.Wall {
		h = wallClock
	}
	p := &Profiler{}
	p.s = newSession(h, o, observer.FromContext(ctx), keep, func() {
		if o.OnSampleBufferFull != nil {
			o.OnSampleBufferFull(p)
		}
	})
	if err := h.attach(p.s); err != nil {
		return nil, err
	}
	p.s.watch(ctx)
	return p, nil
}

// SampleInterval is the interval in use. That of a Wall session changes with what its
// ticks cost.
func (p *Profiler) SampleInterval() time.Duration { return p.s.realInterval() }

// State tells whether samples are taken.
func (p *Profiler) State() State { return p.s.state() }

// Stopped reports whether the state is [Stopped]. It is as soon as Stop is called.
func (p *Profiler) Stopped() bool { return p.s.state() == Stopped }

// Engine is what samples now: "cpu", "window" or "wall", see the package's comment. It changes
// when "cpu" fails, or works again.
func (p *Profiler) Engine() string {
	name, _ := p.s.engineInUse()
	return name
}

// Fallback returns the reason why "window" samples instead of "cpu", or why "wall" takes the slower
// profiles of runtime/pprof. It returns "" when the engine is the best one.
func (p *Profiler) Fallback() string {
	_, reason := p.s.engineInUse()
	return reason
}

// Stats are the session's counts, since [Profiler.TakeTrace] was last called if it was.
func (p *Profiler) Stats() profile.Stats { return p.s.counts() }

// TakeTrace returns what was sampled since Start, or since it was last called, and the
// session goes on with an empty buffer: for profiling that never ends. Each sample is in
// one trace only, and none is lost in between. A trace without samples is no error as long as the
// session goes on. When the session has ended, TakeTrace is Stop.
func (p *Profiler) TakeTrace() (*profile.Trace, error) {
	if t := p.s.cut(); t != nil {
		return t, nil
	}
	return p.Stop()
}

// Stop ends the session and returns its trace, with everything sampled before the
// call. That can take some milliseconds. Further calls return the same trace, as does
// Stop of a session whose buffer was full. The trace is shared: change a copy.
//
// It fails if the engine did, with the trace up to then. When other code had the CPU profiler all
// the time, the trace has no samples and the error wraps [ErrBusy]. When it had it for a part of
// the time, [profile.Stats] of the trace says for how long, without an error.
func (p *Profiler) Stop() (*profile.Trace, error) {
	p.s.stop()
	return p.s.trace, p.s.err
}
