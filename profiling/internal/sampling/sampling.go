// Package sampling has the types that the profiler's engines and hub share: samples, the interface
// of engines, the table of calls, and the clock.
package sampling

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/profiling/profile"
)

// Now returns the time in nanoseconds by the runtime's monotonic clock, which also stamps the
// runtime's CPU samples.
func Now() int64 { return goruntime.Nanotime() }

// An Engine takes samples of the process. Only the goroutine of its hub calls the methods.
//
//   - Start starts the engine at an interval that Interval returned. [ErrBusy] means that other
//     code profiles: the engine does not run, and the hub's engine keeper calls Start again later.
//     After any other error the keeper uses the fallback. After an error that wraps [ErrTransient]
//     the keeper also tries this engine again later.
//   - The keeper calls Tick every Period while the engine runs, and Flush to get the samples up to
//     now. Both emit samples in the order of time. [ErrTaken], after the last samples, means that
//     other code took the CPU profiler: the engine has stopped, and Start may be called again.
//   - Stop emits the remaining samples and stops the engine. If the engine does not run, Stop
//     withdraws a Start that was busy, where this matters.
//   - A Sample is valid until emit returns. The calls of its Stack stay valid while something
//     refers to them.
type Engine interface {
	Name() profile.Engine
	// Interval returns requested, else the next shorter interval that the engine supports, else the
	// engine's shortest interval. A longer request never gets a shorter interval.
	Interval(requested time.Duration) time.Duration
	Period() time.Duration
	Start(interval time.Duration) error
	Tick(emit func(*Sample)) error
	Flush(emit func(*Sample)) error
	Stop(emit func(*Sample))
	// Lost returns the number of lost samples since the engine was made.
	Lost() uint64
}

// A CostMeter is an Engine that measures how long a sample stops the sampled thread.
type CostMeter interface{ Cost() time.Duration }

// Errors that engines return, see [Engine].
var (
	ErrBusy      = errors.New("CPU profiler in use elsewhere in this process")
	ErrTaken     = errors.New("CPU profiler taken by other code in this process")
	ErrTransient = errors.New("the cause may pass")
	ErrStopping  = fmt.Errorf("%w: it is being stopped", ErrBusy)
)

// A Sample is the stack of a goroutine at a moment, or of several goroutines with equal stacks.
type Sample struct {
	At     int64              // by [Now]; the engine's estimate for a sample without a time
	Since  int64              // the sample was taken between Since and At; 0 if At is exact
	Stack  []*profile.Call    // innermost first; empty when the stack is unknown
	Tag    unsafe.Pointer     // the goroutine's labels as the runtime has them, or nil
	Labels []spanlabels.Label // instead of Tag, from an engine that reads only text
	Count  int                // goroutines or ticks in the sample, at least 1
	Weight time.Duration      // CPU or wall time of all Count together
	Marker profile.Marker
	Cut    bool // the stack was deeper than the engine's limit
}
