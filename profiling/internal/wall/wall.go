// Package wall samples what every goroutine does, whether it runs or waits: the wall clock's
// engine.
//
// Every tick takes a goroutine profile, and emits a sample for each distinct pair of stack and
// labels. Count is the number of goroutines with this pair. Weight is the time since the tick
// before, times Count. So the weights of one goroutine's samples sum to its lifetime, up to a tick
// at either end. The first tick stands for the interval.
//
// # Sampled goroutines
//
//   - Every goroutine that exists when the tick begins, with its labels. The sampling goroutine and
//     the runtime's own are left out: the collector's workers, but not a goroutine that helps them.
//     The sum over many goroutines shorter than a tick is right. A single one may be missing.
//   - A waiting goroutine is seen where it waits. A running one is seen where it can be stopped,
//     which is nearly everywhere. A ready one without a CPU counts as running.
//   - In a system call or in C code, the stack up to the call. C functions are visible only after
//     [runtime.SetCgoTraceback].
//   - At most 128 calls of a stack, or the number in GODEBUG=profstackdepth.
//
// # Costs
//
// A tick takes some 1 µs for each goroutine, and the runtime allocates a stack for each. It stops
// the world twice, until every thread is at a safe point. This takes tens of microseconds while
// CPUs are free, and milliseconds when the threads wait for one. Another goroutine profile in the
// process waits for the tick, and the tick for it.
//
// Period grows so that the CPU time of ticks, with emitting, stays inside a budget. The collector's
// work for a tick's garbage is not counted.
//
// # Where it comes from
//
// From the function of the runtime that runtime/pprof takes its goroutine profile from, if
// [goruntime.CheckGoroutineProfile] finds it as expected. Otherwise, see [Engine.Fallback], from
// the profile that runtime/pprof writes, at three to five times the cost; samples have the text of
// labels then.
package wall

import (
	"cmp"
	"fmt"
	"runtime"
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

const (
	shortest      = time.Millisecond
	defaultBudget = 0.01
)

// An Engine is the wall clock's [sampling.Engine].
type Engine struct {
	now        func() int64         // the clock of samples
	cpu        func() time.Duration // the clock of costs
	pace       pace
	fallback   error
	source     func() goroutines
	goroutines goroutines
	symbols    *sampling.Symbols
	active     bool
	ticked     bool  // since Start
	last       int64 // when the weights emitted so far end
	lost       uint64
	sample     sampling.Sample // the one that is emitted, to reuse its memory
	emit       func(*sampling.Sample)
	group      func() // emitGroup, made once
}

var _ sampling.Engine = (*Engine)(nil)

// goroutines takes profiles of all goroutines.
type goroutines interface {
	// profile makes s each of the groups of equal goroutines, but for the calling one, and calls
	// each. Or it returns how many goroutines it missed, and calls nothing.
	profile(s *sampling.Sample, symbols *sampling.Symbols, each func()) (missed int)
}

// New makes an engine that may use the fraction budget of one core, above 0 and at most 1; 0 means
// 0.01.
func New(budget float64, symbols *sampling.Symbols) (*Engine, error) {
	if budget == 0 {
		budget = defaultBudget
	}
	if !(budget > 0 && budget <= 1) { // so written, it refuses NaN
		return nil, fmt.Errorf(
			"wall: budget %v: must be a fraction of one core, above 0 and at most 1, or 0 for %v",
			budget, defaultBudget)
	}
	return newEngine(budget, symbols,
		cmp.Or(goruntime.CheckGoroutineProfile(), goruntime.CheckLabels())), nil
}

func newEngine(budget float64, symbols *sampling.Symbols, fallback error) *Engine {
	e := &Engine{
		now: sampling.Now, cpu: cpuTime,
		pace:     newPace(budget, shortest),
		fallback: fallback,
		source:   newRecordProfile,
		symbols:  symbols,
	}
	if fallback != nil {
		e.source = newEncodedProfile
	}
	e.goroutines, e.group = e.source(), e.emitGroup
	return e
}

// Name implements [sampling.Engine].
func (e *Engine) Name() profile.Engine { return profile.EngineWall }

// Fallback is why the engine takes the profiles that runtime/pprof writes, nil if it takes the
// runtime's records.
func (e *Engine) Fallback() error { return e.fallback }

// Interval implements [sampling.Engine]: any of a millisecond or more will do.
func (e *Engine) Interval(requested time.Duration) time.Duration { return max(requested, shortest) }

// Period is the real interval: the one that Start was given, or the shortest above it that stays
// inside the budget, up to a minute.
func (e *Engine) Period() time.Duration { return e.pace.period }

// Start implements [sampling.Engine]. It never fails.
func (e *Engine) Start(interval time.Duration) error {
	if e.active {
		return nil
	}
	interval = e.Interval(interval)
	e.pace = newPace(e.pace.budget, interval)
	e.active, e.ticked = true, false
	return nil
}

// Tick implements [sampling.Engine]. It never fails. Goroutines that were missed are counted as
// lost, and the next tick's weights make up for their time.
func (e *Engine) Tick(emit func(*sampling.Sample)) error {
	if !e.active {
		return nil
	}
	runtime.LockOSThread() // CPU time is known by thread
	defer runtime.UnlockOSThread()
	began := e.cpu()
	at := e.now()
	if !e.ticked {
		e.ticked, e.last = true, at-int64(e.pace.interval)
	}
	e.sample.At = at
	e.emit = emit
	missed := e.goroutines.profile(&e.sample, e.symbols, e.group)
	e.emit = nil
	if missed > 0 {
		e.lost += uint64(missed)
	} else {
		e.last = at
	}
	e.pace.spent(e.cpu() - began)
	return nil
}

// emitGroup emits the group of goroutines that the sample is of.
func (e *Engine) emitGroup() {
	s := &e.sample
	s.Weight = time.Duration(s.Count) * time.Duration(s.At-e.last)
	s.Marker = sampling.Classify(s.Stack)
	e.emit(s)
}

// Flush does nothing: there is nothing between ticks.
func (e *Engine) Flush(func(*sampling.Sample)) error { return nil }

// Stop implements [sampling.Engine]. It emits nothing, and frees what ticks reuse.
func (e *Engine) Stop(func(*sampling.Sample)) {
	e.active = false
	e.goroutines = e.source()
	e.sample = sampling.Sample{}
}

// Lost implements [sampling.Engine].
func (e *Engine) Lost() uint64 { return e.lost }

// cpuTime is the CPU time of the calling thread; where that is not known, the wall clock, which
// runs no slower.
func cpuTime() time.Duration {
	if t := cputime.Thread(); t != 0 {
		return t
	}
	return time.Duration(sampling.Now())
}
