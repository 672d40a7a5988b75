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

// Options configures a profiler of [Start]. The zero value is ready to use. See JS Self-Profiling,
// The ProfilerInitOptions Dictionary.
type Options struct {
	// SampleInterval is the requested time between samples. 0 means 10 ms. Negative values are
	// errors. If the engine does not support the interval, the profiler uses the next shorter
	// interval. Without a shorter interval, the profiler uses the shortest interval of the engine.
	// For [profile.EngineCPU], the shortest interval is the tick of the kernel, often 4 ms.
	// [Profiler.SampleInterval] returns the interval in use.
	SampleInterval time.Duration

	// MaxBufferSize is the number of samples at which the profiler stops, at most 2³²-1. 0 means
	// 200 000. A sample occupies 48 bytes. See [Profiler.OnSampleBufferFull].
	MaxBufferSize int

	// Modules selects modules: [ModuleMain], [ModuleStandard] or paths of modules. The trace
	// contains only the frames of the selected modules. An empty list selects all modules. If no
	// frame of a sample is selected, the sample contains no stack.
	Modules []string

	// Spans selects the spans that the samples name. The zero value is [LocalRoots]. With
	// LocalRoots, the samples of a request name the server span.
	Spans Selection

	// Wall samples all goroutines by the wall clock, including waiting goroutines. Without Wall,
	// the profiler samples running code by CPU time.
	Wall bool

	// WallBudget limits the share of one core that a Wall profiler may use. The budget is above 0
	// and at most 1. 0 means 0.01. If several profilers run, the smallest budget applies.
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
