package profiling

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/perfline/perfline/profiling/internal/cpuprof"
	"github.com/perfline/perfline/profiling/internal/labels"
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

// lazy is how long the engine goes on at an interval that is shorter than anybody wants
// any more: each change costs the other sessions a gap.
const lazy = 10 * time.Second

// retry is how often a profiler that somebody else has is asked for.
const retry = 20 * time.Millisecond

// A hub owns an engine and gives its samples to the sessions, on one goroutine that
// runs while there are any.
type hub struct {
	wall bool
	make func(budget float64) (sampling.Engine, error)
	// fallback makes the engine for when that of make turns out not to work.
	fallback func() sampling.Engine

	mu      sync.Mutex // guards what follows
	queue   []func()   // to do on the hub's goroutine
	running bool
	wake    chan struct{} // something was queued

	// What follows belongs to the hub's goroutine.
	symbols  *sampling.Symbols
	engine   sampling.Engine
	budget   float64 // that a wall engine was made with
	on       bool    // the engine runs
	interval time.Duration
	slower   time.Time // since lazy before then a longer interval would do; zero when not
	next     time.Time // when the engine, or another try to start it, is due
	lost     uint64    // by the engine, as told to the sessions
	away     time.Time // since when somebody else has the profiler; zero when nobody has
	sessions []*session
}

func newHub(wall bool) *hub {
	h := &hub{wall: wall, wake: make(chan struct{}, 1), symbols: sampling.NewSymbols()}
	h.make = h.newEngine
	h.fallback = func() sampling.Engine { return window.New(h.symbols) }
	return h
}

// do runs f on the hub's goroutine and returns when that has been done. It waits by a
// mutex: a channel made in a bubble of testing/synctest cannot be closed outside.
func (h *hub) do(f func()) {
	var done sync.Mutex
	done.Lock()
	h.mu.Lock()
	h.queue = append(h.queue, func() { f(); done.Unlock() })
	if !h.running {
		h.running = true
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
	// The labels of whoever started the first session are not ours.
	pprof.SetGoroutineLabels(context.Background())
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		h.mu.Lock()
		queue := h.queue
		h.queue = nil
		if len(queue) == 0 && len(h.sessions) == 0 {
			h.running = false
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		for _, f := range queue {
			f()
			h.reap()
		}
		if len(h.sessions) == 0 {
			continue
		}
		timer.Reset(time.Until(h.next))
		select {
		case <-h.wake:
		case <-timer.C:
			h.tick()
			h.reap()
		}
	}
}

// attach adds a session, which gets samples from then on.
func (h *hub) attach(s *session) (err error) {
	h.do(func() {
		h.flush()
		h.sessions = append(h.sessions, s)
		if err = h.tune(); err != nil {
			h.sessions = slices.DeleteFunc(h.sessions, func(x *session) bool { return x == s })
			if again := h.tune(); again != nil {
				h.fail(again)
			}
			return
		}
		s.release = s.o.Scope.hold()
		s.begin(sampling.Now())
		h.pace() // which looks at when it began
		if !h.on {
			s.pause(s.begun)
		}
	})
	return err
}

// detach takes a session out, after it got what was sampled up to now. It reports
// false when it was out before.
func (h *hub) detach(s *session) bool {
	if !slices.Contains(h.sessions, s) {
		return false
	}
	h.flush()
	if s.closed { // these samples filled its buffer, or the engine failed
		return false
	}
	h.remove(s)
	return true
}

func (h *hub) remove(s *session) {
	s.closed = true
	s.release()
	h.sessions = slices.DeleteFunc(h.sessions, func(x *session) bool { return x == s })
	if err := h.tune(); err != nil {
		h.fail(err)
	}
}

// tune makes the engine run as the sessions want it: at the shortest of their
// intervals, and not without a session.
func (h *hub) tune() error {
	if len(h.sessions) == 0 {
		if h.engine != nil {
			h.engine.Stop(h.emit)
		}
		// The next session begins anew: also with the engine, had that to be replaced.
		h.engine, h.symbols = nil, sampling.NewSymbols()
		h.on, h.slower, h.away = false, time.Time{}, time.Time{}
		return nil
	}
	budget := 1.0
	for _, s := range h.sessions {
		budget = min(budget, s.budget())
	}
	if h.engine == nil || h.wall && budget != h.budget {
		h.halt()
		engine, err := h.make(budget)
		if err != nil {
			return err
		}
		h.engine, h.budget, h.lost = engine, budget, engine.Lost()
	}
	interval := time.Duration(0)
	for i, s := range h.sessions {
		if own := h.engine.Interval(s.o.SampleInterval); i == 0 || own < interval {
			interval = own
		}
	}
	switch {
	case h.on && interval > h.interval && h.slower.IsZero():
		h.slower = time.Now().Add(lazy)
	case h.on && interval == h.interval:
		h.slower = time.Time{}
	}
	if !h.on || interval < h.interval || interval > h.interval && !time.Now().Before(h.slower) {
		h.slower = time.Time{}
		h.halt()
		h.interval = interval
		if err := h.start(); err != nil {
			return err
		}
	}
	h.pace()
	return nil
}

// pace tells the sessions which of the engine's samples are theirs, and how often that
// is.
func (h *hub) pace() {
	for _, s := range h.sessions {
		own := max(h.engine.Interval(s.o.SampleInterval), s.o.SampleInterval)
		if h.wall { // every so many ticks, not less often than asked
			tick := max(h.interval, h.engine.Period())
			own = max(tick, s.o.SampleInterval.Truncate(tick))
		}
		s.uses(h.engine.Name(), own)
		s.thin.set(h.wall, own, s.begun)
	}
}

// halt stops the engine; the sessions are paused until start.
func (h *hub) halt() {
	if !h.on {
		return
	}
	h.pause()
	h.engine.Stop(h.emit)
	h.on = false
	h.charge()
}

func (h *hub) pause() {
	now := sampling.Now()
	for _, s := range h.sessions {
		if s.begun != 0 {
			s.pause(now)
		}
	}
}

// start starts the engine. Nothing is wrong when somebody else has the profiler: it is
// tried again.
func (h *hub) start() error {
	err := h.engine.Start(h.interval)
	if errors.Is(err, cpuprof.ErrUnsupported) {
		// It was tried, and does not work here.
		slog.Warn("profiling: samples come without their time, from runtime/pprof", "reason", err)
		h.engine, h.lost = h.fallback(), 0
		return h.tune()
	}
	if errors.Is(err, sampling.ErrBusy) {
		h.yield()
		return nil
	}
	if err != nil {
		return err
	}
	h.on = true
	if !h.away.IsZero() {
		slog.Info("profiling: samples are taken again", "gap", time.Since(h.away).Round(time.Millisecond))
		h.away = time.Time{}
	}
	h.next = time.Now().Add(h.engine.Period())
	now := sampling.Now()
	for _, s := range h.sessions {
		s.resume(now)
	}
	return nil
}

// yield leaves the profiler to whoever else has it, until another try.
func (h *hub) yield() {
	h.next = time.Now().Add(retry)
	if h.away.IsZero() {
		h.away = time.Now()
		slog.Warn("profiling: somebody else has the CPU profiler; no samples are taken until they are done")
	}
}

// tick lets the engine do what is due, or tries to start it again.
func (h *hub) tick() {
	if !h.on {
		if err := h.start(); err != nil {
			h.fail(err)
		}
		return
	}
	h.read(h.engine.Tick)
	if h.on {
		h.next = h.next.Add(h.engine.Period())
		if now := time.Now(); h.next.Before(now) {
			h.next = now.Add(h.engine.Period())
		}
	}
	if h.wall { // its period changes
		h.pace()
	}
	if h.on && !h.slower.IsZero() && !time.Now().Before(h.slower) {
		if err := h.tune(); err != nil {
			h.fail(err)
		}
	}
}

// flush gives the sessions what was sampled up to now.
func (h *hub) flush() {
	if h.on {
		h.read(h.engine.Flush)
	}
}

func (h *hub) read(from func(func(*sampling.Sample)) error) {
	err := from(h.emit)
	h.charge()
	if errors.Is(err, sampling.ErrTaken) {
		h.on = false
		h.pause()
		h.yield()
	} else if err != nil {
		h.reap()
		h.fail(err)
	}
}

// charge tells the sessions what the engine lost, and what its samples cost.
func (h *hub) charge() {
	n := h.engine.Lost() - h.lost
	h.lost += n
	var cost time.Duration
	if e, ok := h.engine.(interface{ Cost() time.Duration }); ok {
		cost = e.Cost()
	}
	for _, s := range h.sessions {
		if s.begun != 0 {
			s.charged(n, cost)
		}
	}
}

// reap lets go of the sessions whose buffers are full.
func (h *hub) reap() {
	for {
		i := slices.IndexFunc(h.sessions, func(s *session) bool { return s.closed })
		if i < 0 {
			return
		}
		s := h.sessions[i]
		h.remove(s) // which reads the engine when it has to be tuned: others may be full now
		go func() {
			s.finish()
			defer func() {
				if v := recover(); v != nil {
					slog.Error("profiling: OnSampleBufferFull panicked; the session has its trace", "panic", v)
				}
			}()
			s.onFull()
		}()
	}
}

// fail ends all sessions, because the engine does not work any more.
func (h *hub) fail(err error) {
	now := sampling.Now()
	for _, s := range h.sessions {
		s.closed = true
		s.ended.CompareAndSwap(0, now)
	}
	h.halt()
	for _, s := range h.sessions {
		s.err = err
		s.release()
		go s.finish()
	}
	h.sessions = nil
}

func (h *hub) emit(sm *sampling.Sample) { h.give(sm, false) }

func (h *hub) give(sm *sampling.Sample, forced bool) {
	ran := resolve(sm)
	for _, s := range h.sessions {
		s.take(sm, &ran, forced)
	}
}

// newEngine is the best engine that there is here.
func (h *hub) newEngine(budget float64) (sampling.Engine, error) {
	if h.wall {
		return wall.New(budget, h.symbols)
	}
	engine, err := cpuprof.New(h.symbols)
	if err != nil {
		slog.Debug("profiling: samples come without their time, from runtime/pprof", "reason", err)
		return window.New(h.symbols), nil
	}
	return engine, nil
}

// ForceSample gives every session that is started a sample of the calling goroutine
// now (JS Self-Profiling, Automation: Force Sample). It stands for no time. It makes
// tests exact.
func ForceSample() {
	var pcs [64]uintptr
	n := runtime.Callers(2, pcs[:])
	tag := labels.Tag()
	for _, h := range []*hub{cpu, wallClock} {
		h.mu.Lock()
		running := h.running
		h.mu.Unlock()
		if running {
			h.do(func() { h.force(pcs[:n], tag) })
		}
	}
	runtime.KeepAlive(tag)
}

func (h *hub) force(pcs []uintptr, tag unsafe.Pointer) {
	if !h.on {
		return
	}
	h.flush()
	sm := sampling.Sample{At: sampling.Now(), Tag: tag, Count: 1, Cut: len(pcs) == 64}
	for _, pc := range pcs {
		sm.Stack = append(sm.Stack, h.symbols.PC(pc))
	}
	h.give(&sm, true)
}
