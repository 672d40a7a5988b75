package profiling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// The defaults of [Options].
const (
	defaultSampleInterval = 10 * time.Millisecond
	defaultMaxBufferSize  = 200_000
	defaultWallBudget     = 0.01
)

// Options configures [Start] (JS Self-Profiling, The ProfilerInitOptions Dictionary). The zero
// value is ready to use.
type Options struct {
	// SampleInterval is the time between samples. 0 means 10 ms. The profiler uses this interval or
	// the next shorter one that its engine supports, or the engine's shortest: with
	// [profile.EngineCPU] the kernel's tick, often 4 ms. [Profiler.SampleInterval] returns it. It
	// must not be negative.
	SampleInterval time.Duration

	// MaxBufferSize is the number of samples at which the profiler stops, up to 2³²-1. 0 means 200
	// 000. A sample takes 48 bytes. See [Profiler.OnSampleBufferFull].
	MaxBufferSize int

	// Modules are the modules whose frames the trace shows: [ModuleMain], [ModuleStandard] or
	// paths; empty means all. Stacks lack the frames of other modules. A sample without any other
	// frame has no stack.
	Modules []string

	// Spans says which spans the samples name. The zero value is [LocalRoots]: for a request its
	// server span.
	Spans Selection

	// Wall samples all goroutines by the wall clock, waiting goroutines included, instead of
	// running code by its CPU time.
	Wall bool

	// WallBudget is the share of one core that a Wall profiler may use, above 0 and up to 1. 0
	// means 0.01. If several profilers run, the smallest budget counts.
	WallBudget float64
}

// fill returns o with its defaults, or an error that names the option, its value and the rule.
func (o Options) fill() (Options, error) {
	switch {
	case o.SampleInterval < 0:
		return o, fmt.Errorf("profiling: SampleInterval %v: must not be negative", o.SampleInterval)
	case o.MaxBufferSize < 0 || int64(o.MaxBufferSize) > math.MaxUint32:
		return o, fmt.Errorf("profiling: MaxBufferSize %d: must be between 0 and %d",
			o.MaxBufferSize, uint32(math.MaxUint32))
	case !(o.WallBudget >= 0 && o.WallBudget <= 1):
		return o, fmt.Errorf(
			"profiling: WallBudget %v: must be over 0 and at most 1, the share of a core",
			o.WallBudget)
	case o.Spans > EverySpan:
		return o, fmt.Errorf("profiling: Spans %d: must be LocalRoots (%d) or EverySpan (%d)",
			o.Spans, LocalRoots, EverySpan)
	}
	o.Modules = slices.Clone(o.Modules)
	o.SampleInterval = cmp.Or(o.SampleInterval, defaultSampleInterval)
	o.MaxBufferSize = cmp.Or(o.MaxBufferSize, defaultMaxBufferSize)
	o.WallBudget = cmp.Or(o.WallBudget, defaultWallBudget)
	return o, nil
}
