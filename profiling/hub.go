package profiling

import (
	"context"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/profiling/internal/cpuprof"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/wall"
	"github.com/perfline/perfline/profiling/internal/window"
)

// The process has one CPU profiler and one set of goroutines, so it has one hub for
// each.
var (
	cpu       = newHub(false)
	wallClock = newHub(true)
)

// slowDownDelay is how long the engine keeps an interval that no profiler needs any more: each
// change of the interval is a gap in the samples of all others.
const slowDownDelay = 10 * time.Second

// The hub tries to get the CPU profiler again while other code has it. Each try looks at all
// goroutines: tries have one in busyShare of a processor.
const (
	busyRetry = time.Second // between two tries at least
	busyMost  = time.Minute // at most
	busyShare = 100
)

// answerTimeout is how long the start of an engine, and all that waits for the hub meanwhile, waits
// for the answer of StartCPUProfile. The answer takes long while other code writes a profile.
const answerTimeout = 100 * time.Millisecond

// A hub owns an engine and distributes its samples to the profilers, on one goroutine that
// runs while there are profilers. That goroutine never calls the program's code, because every
// profiler waits for it.
type hub struct {
	wall bool
	// newBest makes the best engine for this system, and newFallback the one that samples when that
	// does not work. newFallback is nil where there is none.
	newBest     func(budget float64) (sampling.Engine, error)
	newFallback func() sampling.Engine
	logs        hubLog

	mu     sync.Mutex // guards what follows
	queue  []func()   // to do on the hub's goroutine
	active bool
	wake   chan struct{} // something was queued

	// The hub's goroutine owns the fields below.
	profilers      []*Profiler
	symbols        *sampling.Symbols
	engine         sampling.Engine
	fallbackReason string    // the reason why engine is no better one; empty if it is the best
	retryAt        time.Time // when to try the best engine again; zero for never
	// the last pause before retryAt; 0 when the best engine has run since it failed
	retryDelay time.Duration
	panicked   error   // a panic of the best engine, which is not used any more after that
	budget     float64 // that a wall engine was made with
	sampling   bool    // the engine runs
	interval   time.Duration
	// when to change to a longer interval, which would do; zero for never
	slowDownAt time.Time
	// when the engine's tick, or another try to start it, is due
	tickAt time.Time
	// how many of the engine's lost samples the profilers have counted
	lostCounted uint64
	// when other code got the CPU profiler; zero when it is free
	busySince time.Time
	busyPause time.Duration              // before the next try to get it
	spent     func(func()) time.Duration // cputime.Spent
}

func newHub(wallClock bool) *hub {
	h := &hub{wall: wallClock, wake: make(chan struct{}, 1), symbols: sampling.NewSymbols(),
		spent: cputime.Spent}
	if wallClock {
		h.newBest = func(budget float64) (sampling.Engine,
			error) {
			return wall.New(budget, h.symbols)
		}
	} else {
		h.newBest = func(float64) (sampling.Engine,
			error) {
			return cpuprof.New(h.symbols, answerTimeout)
		}
		h.newFallback = func() sampling.Engine {
			return window.New(h.symbols, answerTimeout,
				sampling.Process{})
		}
	}
	return h
}

// do runs f on the hub's goroutine, and returns after that. It waits by a
// mutex: a channel made in a bubble of testing/synctest cannot be closed outside.
func (h *hub) do(f func()) {
	var done sync.Mutex
	done.Lock()
	h.mu.Lock()
	h.queue = append(h.queue, func() { f(); done.Unlock() })
	if !h.active {
		h.active = true
		go h.run()
	}
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
	done.Lock()
	done.Unlock() //nolint:staticcheck // it is waited for, nothing is guarded
}

func (h *hub) run() {
	// The goroutine inherited the labels of the one that started the first profiler.
	pprof.SetGoroutineLabels(context.Background())
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		h.mu.Lock()
		queue := h.queue
		h.queue = nil
		if len(queue) == 0 && len(h.profilers) == 0 {
			h.active = false
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		for _, f := range queue {
			f()
			h.removeFull()
		}
		if len(h.profilers) == 0 {
			continue
		}
		timer.Reset(time.Until(h.tickAt))
		select {
		case <-h.wake:
		case <-timer.C:
			h.tick()
			h.removeFull()
		}
	}
}

// attach adds a profiler, which gets samples from then on.
func (h *hub) attach(p *Profiler) (err error) {
	h.do(func() {
		h.flush()
		h.profilers = append(h.profilers, p)
		if err = h.adjust(); err != nil {
			h.profilers = slices.DeleteFunc(h.profilers, func(x *Profiler) bool { return x == p })
			if again := h.adjust(); again != nil {
				h.fail(again)
			}
			return
		}
		p.unhold = HoldLabels(p.o.Spans)
		p.begin(sampling.Now())
		h.setIntervals() // which looks at when it began
		if !h.sampling {
			p.pause(p.begun)
			p.markBusy()
		}
	})
	p.axis.read()
	return err
}

// detach removes a profiler, after it got what was sampled up to now. It reports
// false if the profiler was removed before.
func (h *hub) detach(p *Profiler) bool {
	if !slices.Contains(h.profilers, p) {
		return false
	}
	h.flush()
	if p.closed { // these samples filled its buffer, or the engine failed
		return false
	}
	h.remove(p)
	return true
}

func (h *hub) remove(p *Profiler) {
	p.closed = true
	p.unhold()
	h.profilers = slices.DeleteFunc(h.profilers, func(x *Profiler) bool { return x == p })
	if err := h.adjust(); err != nil {
		h.fail(err)
	}
}

// adjust makes the engine run at the shortest interval of the profilers, and stops it when there is
// no profiler.
func (h *hub) adjust() error {
	if len(h.profilers) == 0 {
		h.dropEngine()
		return nil
	}
	budget := 1.0
	for _, p := range h.profilers {
		budget = min(budget, p.o.WallBudget)
	}
	if h.engine == nil || h.wall && budget != h.budget || h.retryDue() {
		h.pauseSampling()
		if err := h.chooseEngine(budget); err != nil {
			return err
		}
	}
	interval := time.Duration(0)
	for i, p := range h.profilers {
		if own := h.engine.Interval(p.o.SampleInterval); i == 0 || own < interval {
			interval = own
		}
	}
	switch {
	case h.sampling && interval > h.interval && h.slowDownAt.IsZero():
		h.slowDownAt = time.Now().Add(slowDownDelay)
	case h.sampling && interval == h.interval:
		h.slowDownAt = time.Time{}
	}
	if !h.sampling || interval < h.interval || interval > h.interval &&
		!time.Now().Before(h.slowDownAt) {
		h.slowDownAt = time.Time{}
		h.pauseSampling()
		h.interval = interval
		if err := h.startEngine(); err != nil {
			return err
		}
	}
	h.setIntervals()
	return nil
}

// setIntervals sets which of the engine's samples each profiler takes, and its interval.
func (h *hub) setIntervals() {
	for _, p := range h.profilers {
		own := max(h.engine.Interval(p.o.SampleInterval), p.o.SampleInterval)
		if h.wall { // every so many ticks, not less often than its option says
			tick := max(h.interval, h.engine.Period())
			own = max(tick, p.o.SampleInterval.Truncate(tick))
		}
		p.setEngine(h.engine.Name(), h.fallbackReason, own)
		p.thin.set(h.wall, own, p.begun)
	}
}

// tick calls the engine's tick, or tries to start the engine again.
func (h *hub) tick() {
	if h.retryDue() {
		if err := h.adjust(); err != nil {
			h.fail(err)
		}
		return
	}
	if !h.sampling {
		if err := h.startEngine(); err != nil {
			h.fail(err)
		}
		return
	}
	h.read(h.engine.Tick)
	if h.sampling {
		h.tickAt = h.tickAt.Add(h.engine.Period())
		if now := time.Now(); h.tickAt.Before(now) {
			h.tickAt = now.Add(h.engine.Period())
		}
	}
	if h.wall { // its period changes
		h.setIntervals()
	}
	if h.sampling && !h.slowDownAt.IsZero() && !time.Now().Before(h.slowDownAt) {
		if err := h.adjust(); err != nil {
			h.fail(err)
		}
	}
}

// removeFull removes the profilers whose buffers are full.
func (h *hub) removeFull() {
	for {
		i := slices.IndexFunc(h.profilers, func(p *Profiler) bool { return p.closed })
		if i < 0 {
			return
		}
		p := h.profilers[i]
		h.remove(p) // which may read the engine: others may be full now
		go func() {
			p.makeTrace()
			p.listeners.fire()
		}()
	}
}

// fail ends all profilers, because no engine works any more.
func (h *hub) fail(err error) {
	now := sampling.Now()
	for _, p := range h.profilers {
		p.closed = true
		p.ended.CompareAndSwap(0, now)
	}
	h.pauseSampling()
	for _, p := range h.profilers {
		p.err = err
		p.unhold()
		go p.makeTrace()
	}
	h.profilers = nil
	h.dropEngine()
}

func (h *hub) emit(sm *sampling.Sample) { h.distribute(sm, false) }

func (h *hub) distribute(sm *sampling.Sample, forced bool) {
	ran := resolve(sm)
	for _, p := range h.profilers {
		p.add(sm, &ran, forced)
	}
}
