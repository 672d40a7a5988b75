package profiling

import (
	"context"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/profiling/internal/cpuprof"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/wall"
	"github.com/perfline/perfline/profiling/internal/window"
)

// The process has one CPU profiler and one set of goroutines, and one hub for each.
var (
	cpu       = newHub(false)
	wallClock = newHub(true)
)

// A hub distributes the samples of an engine to the profilers, on a goroutine that runs while there
// are profilers. All profilers wait for this goroutine, so it never calls the program's code.
type hub struct {
	wall bool

	mu     sync.Mutex // guards the fields up to wake
	queue  []func()   // calls for the hub's goroutine
	active bool
	wake   chan struct{} // receives an item when a call was queued

	// The hub's goroutine owns the fields below.
	profilers []*Profiler
	keeper    *engineKeeper
}

var _ engineUser = (*hub)(nil)

func newHub(wallClock bool) *hub {
	h := &hub{wall: wallClock, wake: make(chan struct{}, 1)}
	k := newEngineKeeper(h)
	h.keeper = k
	if wallClock {
		k.newBest = func(budget float64) (sampling.Engine, error) {
			return wall.New(budget, k.symbols)
		}
		return h
	}
	k.newBest = func(float64) (sampling.Engine, error) {
		return cpuprof.New(k.symbols, answerTimeout)
	}
	k.newFallback = func() sampling.Engine {
		return window.New(k.symbols, answerTimeout, sampling.Process{})
	}
	return h
}

// do runs f on the hub's goroutine, and returns after f. It waits for a mutex: a channel made in a
// bubble of testing/synctest cannot be closed outside.
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
	done.Unlock() //nolint:staticcheck // only waits
}

func (h *hub) run() {
	// The goroutine inherited the labels of the caller of Start.
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
		timer.Reset(time.Until(h.keeper.due))
		select {
		case <-h.wake:
		case <-timer.C:
			h.settle(h.keeper.tick())
			h.removeFull()
		}
	}
}

// attach adds a profiler, which gets samples from then on.
func (h *hub) attach(p *Profiler) (err error) {
	h.do(func() {
		h.flush()
		h.profilers = append(h.profilers, p)
		if err = h.want(); err != nil {
			h.profilers = slices.DeleteFunc(h.profilers, func(x *Profiler) bool { return x == p })
			h.settle(h.want())
			return
		}
		p.releaseLabels = HoldLabels(p.o.Spans)
		p.begin(sampling.Now())
		h.settle(nil)
		p.follow(h.keeper.state, p.startedAt)
	})
	p.axis.read()
	return err
}

// detach distributes the samples up to now and removes a profiler. It returns false if the profiler
// was removed before.
func (h *hub) detach(p *Profiler) bool {
	if !slices.Contains(h.profilers, p) {
		return false
	}
	h.flush()
	if p.closed { // the flush filled its buffer, or the engine failed
		return false
	}
	h.remove(p)
	return true
}

func (h *hub) remove(p *Profiler) {
	p.closed = true
	p.releaseLabels()
	h.profilers = slices.DeleteFunc(h.profilers, func(x *Profiler) bool { return x == p })
	h.settle(h.want())
}

// want requests the shortest interval and the smallest budget of the profilers. If all profilers
// are closed, it drops the engine.
func (h *hub) want() error {
	interval, budget := time.Duration(0), 1.0
	for _, p := range h.profilers {
		if p.closed {
			continue
		}
		if interval == 0 || p.o.SampleInterval < interval {
			interval = p.o.SampleInterval
		}
		if h.wall {
			budget = min(budget, p.o.WallBudget)
		}
	}
	if interval == 0 {
		h.keeper.drop()
		return nil
	}
	return h.keeper.want(interval, budget)
}

// settle tells the profilers the engine and their intervals. After an error of the keeper, it ends
// the profilers.
func (h *hub) settle(err error) {
	if err != nil {
		h.fail(err)
	}
	k := h.keeper
	if k.engine == nil {
		return
	}
	for _, p := range h.profilers {
		own := max(k.engine.Interval(p.o.SampleInterval), p.o.SampleInterval)
		if h.wall { // a whole number of ticks, not longer than the option says
			tick := max(k.interval, k.engine.Period())
			own = max(tick, p.o.SampleInterval.Truncate(tick))
		}
		p.setEngine(k.engine.Name(), k.fallbackReason, own)
		p.thin.set(own)
	}
}

// flush distributes all samples up to now.
func (h *hub) flush() { h.settle(h.keeper.flush()) }

// removeFull removes the profilers whose buffers are full.
func (h *hub) removeFull() {
	for {
		i := slices.IndexFunc(h.profilers, func(p *Profiler) bool { return p.closed })
		if i < 0 {
			return
		}
		p := h.profilers[i]
		h.remove(p) // remove may read the engine, which may fill more buffers
		go func() {
			p.makeTrace()
			p.listeners.fire()
		}()
	}
}

// fail ends all profilers that are not full, because no engine works any more.
func (h *hub) fail(err error) {
	now := sampling.Now()
	h.profilers = slices.DeleteFunc(h.profilers, func(p *Profiler) bool {
		if p.closed {
			return false
		}
		p.closed, p.err = true, err
		p.endedAt.CompareAndSwap(0, now)
		p.releaseLabels()
		go p.makeTrace()
		return true
	})
	h.keeper.drop()
}

// emit implements [engineUser].
func (h *hub) emit(sm *sampling.Sample) { h.distribute(sm, false) }

func (h *hub) distribute(sm *sampling.Sample, forced bool) {
	ran := resolve(sm)
	for _, p := range h.profilers {
		p.add(sm, &ran, forced)
	}
}

// enter implements [engineUser].
func (h *hub) enter(state engineState) {
	now := sampling.Now()
	for _, p := range h.profilers {
		if p.startedAt != 0 {
			p.follow(state, now)
		}
	}
}

// countEngine implements [engineUser].
func (h *hub) countEngine(lost uint64, cost time.Duration) {
	for _, p := range h.profilers {
		if p.startedAt != 0 {
			p.countEngine(lost, cost)
		}
	}
}
