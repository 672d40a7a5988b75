// Package sampling has the parts that the profiler's engines and its hub share: samples, the
// interface of engines, the table of calls, and the clock.
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

// Now is the monotonic clock of samples, in nanoseconds. The runtime stamps its log of CPU samples
// by it.
func Now() int64 { return goruntime.Nanotime() }

// An Engine takes samples of the process. Only the goroutine of its hub calls its methods.
//
//   - Start starts the engine at an interval that Interval returned. [ErrBusy] means that other
//     code profiles: the engine does not run, and the hub's engine keeper calls Start again later.
//     After any other error the keeper uses the fallback. After an error that wraps [ErrTransient]
//     the keeper also tries this engine again later.
//   - The keeper calls Tick every Period while the engine runs, and Flush when it needs the samples
//     up to now. Both emit samples in the order of time. [ErrTaken], after the last samples, means
//     that other code took the CPU profiler: the engine has stopped, and Start may be called again.
//   - Stop emits the remaining samples and stops the engine. If the engine does not run, Stop
//     withdraws a Start that was busy, where this matters.
//   - A Sample is valid until emit returns. The calls of its Stack stay valid while something
//     refers to them.
type Engine interface {
	// Name says which engine it is, for reports.
	Name() profile.Engine
	// Interval returns the interval for a requested one: that interval, else the next shorter one
	// that the engine supports, else its shortest. A longer request never gets a shorter interval.
	Interval(requested time.Duration) time.Duration
	Period() time.Duration
	Start(interval time.Duration) error
	Tick(emit func(*Sample)) error
	Flush(emit func(*Sample)) error
	Stop(emit func(*Sample))
	// Lost is how many samples were taken but could not be kept, since the engine was made.
	Lost() uint64
}

// A CostMeter is an Engine that knows how long a sample stops the code that it is taken of.
type CostMeter interface{ Cost() time.Duration }

// Errors that engines return, see [Engine].
var (
	ErrBusy      = errors.New("CPU profiler in use elsewhere in this process")
	ErrTaken     = errors.New("CPU profiler taken by other code in this process")
	ErrTransient = errors.New("the cause may pass")
	ErrStopping  = fmt.Errorf("%w: it is being stopped", ErrBusy)
)

// A Sample is a stack at a moment, or several goroutines' equal ones.
type Sample struct {
	// Since is when the sample may have been taken at the earliest, where that is not known better
	// than to be between Since and At; otherwise 0.
	Since  int64
	At     int64              // by [Now]; of a sample without a time the engine puts one
	Stack  []*profile.Call    // innermost first; empty when nothing is known
	Tag    unsafe.Pointer     // the goroutine's labels as the runtime has them, or nil
	Labels []spanlabels.Label // instead of Tag, by an engine that knows their text only
	Count  int                // how many goroutines or ticks it stands for, at least 1
	Weight time.Duration      // the CPU or wall time it stands for, of all Count together
	Marker profile.Marker
	Cut    bool // the stack was deeper than the engine could see
}
