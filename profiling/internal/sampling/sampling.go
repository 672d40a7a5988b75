// Package sampling contains the types that the profiler's engines and hub share: samples, the
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

// Now returns the current time of the runtime's monotonic clock, in nanoseconds. The times of the
// runtime's CPU samples are times of the same clock.
func Now() int64 { return goruntime.Nanotime() }

// An Engine takes samples of the process for the profilers. The hub distributes the samples to the
// profilers. Only the goroutine of the hub calls the methods.
//
//   - Start starts the engine. The interval must be a result of Interval.
//   - Start returns [ErrBusy] if other code uses the CPU profiler. The engine then does not run.
//     The keeper, the part of the hub that controls the engine, calls Start again later.
//   - After any other error of Start, the keeper uses another engine. If the error wraps
//     [ErrTransient], the keeper also calls Start again later.
//   - The keeper calls Tick every Period while the engine runs. The keeper calls Flush to receive
//     the samples up to now. Tick and Flush emit samples in the order of time.
//   - Tick and Flush return [ErrTaken] if other code took over the CPU profiler, or if signals no
//     longer arrive. The engine has then emitted the last samples and stopped. The keeper may call
//     Start again.
//   - Stop emits the remaining samples and stops the engine. If the engine does not run, Stop
//     cancels the pending request of a busy Start.
//   - A Sample is valid until emit returns. The calls of the stack stay valid while a reference to
//     the calls exists.
type Engine interface {
	Name() profile.Engine
	// Interval returns requested if the engine supports requested. Otherwise Interval returns the
	// next shorter interval that the engine supports. Without a shorter interval, Interval returns
	// the shortest interval of the engine. A longer request never results in a shorter interval.
	Interval(requested time.Duration) time.Duration
	Period() time.Duration
	Start(interval time.Duration) error
	Tick(emit func(*Sample)) error
	Flush(emit func(*Sample)) error
	Stop(emit func(*Sample))
	// Lost returns the number of lost samples since the creation of the engine.
	Lost() uint64
}

// A CostMeter is an [Engine] that measures the cost of a sample. Cost returns the time for which
// one sample stops the sampled thread.
type CostMeter interface{ Cost() time.Duration }

// Errors that engines return, see [Engine].
var (
	ErrBusy      = errors.New("CPU profiler in use elsewhere in this process")
	ErrTaken     = errors.New("CPU profiler taken by other code in this process")
	ErrTransient = errors.New("the cause may pass")
	ErrStopping  = fmt.Errorf("%w: it is being stopped", ErrBusy)
)

// A Sample records the stack of a goroutine at one time. A Sample may also record several
// goroutines with equal stacks.
type Sample struct {
	At     int64              // by [Now]; an estimate unless Since is 0
	Since  int64              // the sample was taken between Since and At; 0 if At is exact
	Stack  []*profile.Call    // innermost first; empty when the stack is unknown
	Tag    unsafe.Pointer     // the label pointer of the goroutine, or nil
	Labels []spanlabels.Label // instead of Tag, from an engine that reads only text
	Count  int                // goroutines or ticks in the sample, at least 1
	Weight time.Duration      // total CPU time or wall time of the Count goroutines or ticks
	Marker profile.Marker
	Cut    bool // the stack was deeper than the engine's limit
}
