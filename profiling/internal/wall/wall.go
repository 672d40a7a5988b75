// Package wall samples all goroutines, running or waiting, by the wall clock.
//
// Each tick takes a goroutine profile, and emits a sample for each distinct pair of stack and
// labels. Count is the number of goroutines with the pair. Weight is Count times the time since the
// last tick. So the weights of one goroutine's samples sum to its lifetime, up to a tick at either
// end. The first tick stands for the interval.
//
// # Sampled goroutines
//
//   - Every goroutine that exists when the tick begins, with its labels, except for the sampling
//     goroutine and the runtime's own, such as the collector's workers. A goroutine that helps the
//     collector is sampled. The sum over many goroutines shorter than a tick is right. A single
//     short goroutine may be missing.
//   - A waiting goroutine is sampled where it waits. A running goroutine is sampled where it can be
//     stopped, which is nearly everywhere. A ready goroutine without a CPU counts as running.
//   - In a system call or in C code, the stack ends at the call. C functions are visible only after
//     [runtime.SetCgoTraceback].
//   - A stack has at most 128 calls, or the number in GODEBUG=profstackdepth.
//
// # Costs
//
// A tick takes about 1 µs for each goroutine, and the runtime allocates a stack for each. It stops
// the world twice, until every thread is at a safe point. This takes tens of microseconds while
// CPUs are free, and milliseconds when the threads wait for a CPU. Ticks and other goroutine
// profiles in the process wait for each other.
//
// Period grows so that the CPU time of ticks, with emitting, stays inside a budget. The collector's
// work for a tick's garbage is not counted.
//
// # Source
//
// The engine calls the function from which runtime/pprof takes its goroutine profile, if
// [goruntime.CheckGoroutineProfile] returns no error. Otherwise the engine reads the profile that
// runtime/pprof writes, at three to five times the cost, see [Engine.Fallback]. Then samples have
// the text of labels.
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

// An Engine is a [sampling.Engine] that samples all goroutines of the process by the wall clock.
type Engine struct {
	now        func() int64         // the clock of samples
	cpu        func() time.Duration // the clock of costs
	pace       pace
	fallback   error
	source     func() goroutines
	goroutines goroutines
	symbols    *sampling.Symbols
	active     bool  // between Start and Stop
	ticked     bool  // since Start
	last       int64 // the end of the emitted weights
	lost       uint64
	sample     sampling.Sample // memory for the next sample
	emit       func(*sampling.Sample)
	group      func() // emitGroup, allocated once
}

var _ sampling.Engine = (*Engine)(nil)

// goroutines takes profiles of all goroutines.
type goroutines interface {
	// profile sets s for each group of equal goroutines, except for the calling one, and calls
	// each. If it fails, it calls nothing, and returns the number of goroutines that it missed.
	profile(s *sampling.Sample, symbols *sampling.Symbols, each func()) (missed int)
}

// New returns an engine that is not running. The parameter budget limits the share of one core that
// the engine may use. The budget is above 0 and at most 1. 0 means 0.01.
func New(budget float64, symbols *sampling.Symbols) (*Engine, error) {
	if budget == 0 {
		budget = defaultBudget
	}
	if !(budget > 0 && budget <= 1) { // refuses NaN, too
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

// Name returns [profile.EngineWall], the name of the engine.
func (e *Engine) Name() profile.Engine { return profile.EngineWall }

// Fallback returns the reason why the engine reads the slower profiles of runtime/pprof. If the
// engine reads the runtime's records directly, Fallback returns nil.
func (e *Engine) Fallback() error { return e.fallback }

// Interval returns the sampling interval that the engine uses for a requested interval. The result
// is the requested interval, but at least a millisecond.
func (e *Engine) Interval(requested time.Duration) time.Duration { return max(requested, shortest) }

// Period returns the time between calls of Tick. The period is at least the interval that Start
// received. If the calls use more CPU time than the budget, the period becomes longer, up to a
// minute.
func (e *Engine) Period() time.Duration { return e.pace.period }

// Start starts the engine at the given interval. The first call of Tick then takes samples. Start
// always returns nil.
func (e *Engine) Start(interval time.Duration) error {
	if e.active {
		return nil
	}
	interval = e.Interval(interval)
	e.pace = newPace(e.pace.budget, interval)
	e.active, e.ticked = true, false
	return nil
}

// Tick samples all goroutines, and passes the samples to the function emit. Tick counts missed
// goroutines as lost samples. The sample weights of the next Tick then include the time since the
// last Tick without missed goroutines. Tick always returns nil.
func (e *Engine) Tick(emit func(*sampling.Sample)) error {
	if !e.active {
		return nil
	}
	runtime.LockOSThread() // for the CPU time of the thread
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

// emitGroup emits the sample of a group of goroutines.
func (e *Engine) emitGroup() {
	s := &e.sample
	s.Weight = time.Duration(s.Count) * time.Duration(s.At-e.last)
	s.Marker = sampling.Classify(s.Stack)
	e.emit(s)
}

// Flush does nothing, because only calls of Tick take samples.
func (e *Engine) Flush(func(*sampling.Sample)) error { return nil }

// Stop stops the engine and frees the memory for samples. Stop emits no samples.
func (e *Engine) Stop(func(*sampling.Sample)) {
	e.active = false
	e.goroutines = e.source()
	e.sample = sampling.Sample{}
}

// Lost returns the number of goroutines that calls of Tick missed.
func (e *Engine) Lost() uint64 { return e.lost }

// cpuTime returns the CPU time of the calling thread. On systems without that, it returns the wall
// clock, which runs no slower.
func cpuTime() time.Duration {
	if t := cputime.Thread(); t != 0 {
		return t
	}
	return time.Duration(sampling.Now())
}
