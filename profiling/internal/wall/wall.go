// Package wall samples what every goroutine does, whether it runs or waits: the
// wall clock's engine.
//
// Every tick takes a goroutine profile, and emits a sample for each distinct pair
// of stack and labels: Count says how many goroutines have it, Weight is the time
// since the tick before, times Count. So the weights of one goroutine's samples sum
// to the time that it lived, up to a tick at either end.
//
// A tick costs time in proportion to the goroutines, and stops the world twice for
// a moment. Period grows so that the CPU time of ticks stays inside a budget.
package wall

import (
	"fmt"
	"runtime"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

const (
	shortest      = time.Millisecond
	defaultBudget = 0.01
)

// An Engine is the wall clock's [sampling.Engine].
type Engine struct {
	now        func() int64         // [sampling.Now], but for tests
	cpu        func() time.Duration // [cpuTime], but for tests
	pace       pace
	goroutines goroutines
	symbols    *sampling.Symbols
	running    bool
	last       int64 // when the weights emitted so far end
	lost       uint64
	sample     sampling.Sample // the one that is emitted, to reuse its memory
}

var _ sampling.Engine = (*Engine)(nil)

// New makes an engine that may use the fraction budget of one core, above 0 and at
// most 1; 0 means 0.01.
func New(budget float64) (*Engine, error) {
	if budget == 0 {
		budget = defaultBudget
	}
	if !(budget > 0 && budget <= 1) { // so written, it refuses NaN
		return nil, fmt.Errorf("wall: budget %v: must be a fraction of one core, above 0 and at most 1, or 0 for %v", budget, defaultBudget)
	}
	return &Engine{
		now: sampling.Now, cpu: cpuTime,
		pace:       newPace(budget, shortest),
		goroutines: newGoroutines(),
		symbols:    sampling.NewSymbols(),
	}, nil
}

// Name implements [sampling.Engine].
func (e *Engine) Name() string { return name }

// Interval implements [sampling.Engine]: any of a millisecond or more will do.
func (e *Engine) Interval(asked time.Duration) time.Duration { return max(asked, shortest) }

// Period is the real interval: the one that Start was given, or the shortest above
// it that stays inside the budget, up to a minute.
func (e *Engine) Period() time.Duration { return e.pace.period }

// Start implements [sampling.Engine]. It never fails.
func (e *Engine) Start(interval time.Duration) error {
	if e.running {
		return nil
	}
	interval = e.Interval(interval)
	e.pace = newPace(e.pace.budget, interval)
	e.last = e.now() - int64(interval)
	e.running = true
	return nil
}

// Tick implements [sampling.Engine]. It never fails. Goroutines that were missed
// are counted as lost, and the next tick's weights make up for their time.
func (e *Engine) Tick(emit func(*sampling.Sample)) error {
	if !e.running {
		return nil
	}
	runtime.LockOSThread() // CPU time is known by thread
	defer runtime.UnlockOSThread()
	began := e.cpu()
	at := e.now()
	s := &e.sample
	missed := e.goroutines.profile(s, e.symbols, func() {
		s.At = at
		s.Weight = time.Duration(s.Count) * time.Duration(at-e.last)
		s.Marker = classify(s.Stack)
		emit(s)
	})
	if missed > 0 {
		e.lost += uint64(missed)
	} else {
		e.last = at
	}
	e.pace.spent(e.cpu() - began)
	return nil
}

// Flush does nothing: there is nothing between ticks.
func (e *Engine) Flush(func(*sampling.Sample)) error { return nil }

// Stop implements [sampling.Engine]. It emits nothing, and frees what ticks reuse.
func (e *Engine) Stop(func(*sampling.Sample)) {
	e.running = false
	e.goroutines = newGoroutines()
	e.sample = sampling.Sample{}
}

// Lost implements [sampling.Engine].
func (e *Engine) Lost() uint64 { return e.lost }
