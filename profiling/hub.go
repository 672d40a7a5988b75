package profiling

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// The process has one CPU profiler and one set of goroutines, so it has one hub for
// each.
var (
	cpu       = newHub(false)
	wallClock = newHub(true)
)

// lazy is how long the engine goes on at an interval that no session needs any more: each change
// costs the other sessions a gap.
const lazy = 10 * time.Second

// retry is how often the hub asks for a profiler that other code has.
const retry = 20 * time.Millisecond

// A hub owns an engine and gives its samples to the sessions, on one goroutine that
// runs while there are any. That goroutine calls no code of the program's: every session
// waits for it.
type hub struct {
	wall bool
	make func(budget float64) (sampling.Engine, error)
	// fallback makes the engine that samples when the one of make does not work. It is nil
	// where there is no other.
	fallback func() sampling.Engine
	logs     logQueue

	mu      sync.Mutex // guards what follows
	queue   []func()   // to do on the hub's goroutine
	running bool
	wake    chan struct{} // something was queued

	// What follows belongs to the hub's goroutine.
	symbols  *sampling.Symbols
	engine   sampling.Engine
	reason   string        // why engine is the fallback; empty when it is not
	again    time.Time     // when to try the better engine again; zero for never
	wait     time.Duration // before again; 0 when the better engine has run since it failed
	broken   error         // a panic of the better engine, after which the process does without it
	budget   float64       // that a wall engine was made with
	on       bool          // the engine runs
	interval time.Duration
	slower   time.Time // since lazy before then a longer interval would do; zero when not
	next     time.Time // when the engine, or another try to start it, is due
	lost     uint64    // by the engine, as told to the sessions
	away     time.Time // when other code got the profiler; zero when it is free
	sessions []*session
}

func newHub(wall bool) *hub {
	h := &hub{wall: wall, wake: make(chan struct{}, 1), symbols: sampling.NewSymbols()}
	h.make = h.newEngine
	if !wall {
		h.fallback = h.newFallback
	}
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
		s.release = spanlabels.Hold(s.o.Scope)
		s.begin(sampling.Now())
		h.pace() // which looks at when it began
		if !h.on {
			s.pause(s.begun)
			s.yield()
		}
	})
	s.axis.read()
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
		h.rest()
		return nil
	}
	budget := 1.0
	for _, s := range h.sessions {
		budget = min(budget, s.budget())
	}
	if h.engine == nil || h.wall && budget != h.budget || h.due() {
		h.halt()
		if err := h.choose(budget); err != nil {
			return err
		}
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
		s.uses(h.engine.Name(), h.reason, own)
		s.thin.set(h.wall, own, s.begun)
	}
}

// tick lets the engine do what is due, or tries to start it again.
func (h *hub) tick() {
	if h.due() {
		if err := h.tune(); err != nil {
			h.fail(err)
		}
		return
	}
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
					h.logs.log(slog.LevelError, "profiling: OnSampleBufferFull panicked; the session has its trace", slog.String("panic", fmt.Sprint(v)))
				}
			}()
			s.onFull()
		}()
	}
}

// fail ends all sessions, because no engine works any more.
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
	h.rest()
}

func (h *hub) emit(sm *sampling.Sample) { h.give(sm, false) }

func (h *hub) give(sm *sampling.Sample, forced bool) {
	ran := resolve(sm)
	for _, s := range h.sessions {
		s.take(sm, &ran, forced)
	}
}
