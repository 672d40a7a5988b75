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

// The process has one CPU profiler and one set of goroutines, so it has one hub for each.
var (
	cpu       = newHub(false)
	wallClock = newHub(true)
)

// A hub distributes the samples of an engine to the profilers, on one goroutine that runs while
// there are profilers. That goroutine never calls the program's code, because every profiler waits
// for it.
type hub struct {
	wall bool

	mu     sync.Mutex // guards what follows
	queue  []func()   // to do on the hub's goroutine
	active bool
	wake   chan struct{} // something was queued

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

// do runs f on the hub's goroutine, and returns after that. It waits by a mutex: a channel made in
// a bubble of testing/synctest cannot be closed outside.
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
		p.unhold = HoldLabels(p.o.Spans)
		p.begin(sampling.Now())
		h.settle(nil)
		p.follow(h.keeper.state, p.begun)
	})
	p.axis.read()
	return err
}

// detach removes a profiler, after it got what was sampled up to now. It reports false if the
// profiler was removed before.
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
	h.settle(h.want())
}

// want makes the engine run at the shortest interval of the profilers, with the smallest budget. It
// drops the engine if all profilers are closed.
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

// settle tells the profilers which engine samples, and at which interval. After an error of the
// keeper, it ends them.
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
		if h.wall { // every so many ticks, not less often than its option says
			tick := max(k.interval, k.engine.Period())
			own = max(tick, p.o.SampleInterval.Truncate(tick))
		}
		p.setEngine(k.engine.Name(), k.fallbackReason, own)
		p.thin.set(own)
	}
}

// flush distributes what was sampled up to now.
func (h *hub) flush() { h.settle(h.keeper.flush()) }

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

// fail ends the profilers, except for those that are full, because no engine works any more.
func (h *hub) fail(err error) {
	now := sampling.Now()
	h.profilers = slices.DeleteFunc(h.profilers, func(p *Profiler) bool {
		if p.closed {
			return false
		}
		p.closed, p.err = true, err
		p.ended.CompareAndSwap(0, now)
		p.unhold()
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
		if p.begun != 0 {
			p.follow(state, now)
		}
	}
}

// countEngine implements [engineUser].
func (h *hub) countEngine(lost uint64, cost time.Duration) {
	for _, p := range h.profilers {
		if p.begun != 0 {
			p.countEngine(lost, cost)
		}
	}
}
