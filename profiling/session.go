package profiling

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// A session is an abstract producer of samples (JS Self-Profiling, Profiling
// Sessions). What is guarded by nothing belongs to the hub's goroutine until closed
// is set, then to finish.
type session struct {
	hub    *hub
	o      Options
	onFull func()

	axis axis // of its timeline

	keep    func(*profile.Call) bool // which calls are frames, nil for all
	part    *part
	thin    thinner
	begun   int64  // by sampling.Now
	from    int64  // when part began: begun, or when the one before was taken
	release func() // ends the labelling of spans
	closed  bool   // it takes no samples any more
	full    bool   // because it has as many as it may

	stopping atomic.Bool
	ended    atomic.Int64 // by sampling.Now, when it was stopped; 0 before
	ready    sync.Mutex   // locked until trace and err are there; see hub.do
	trace    *profile.Trace
	err      error

	mu       sync.Mutex // guards what follows
	unwatch  func() bool
	finished bool
	engine   string
	fallback string // why it is engine, and no better one
	interval time.Duration
	paused   int64 // since when, by sampling.Now; 0 while it is not
	busy     bool  // other code had the CPU profiler since then
	sampled  bool  // the engine has run for it
	stats    profile.Stats
	// CPU time that the process has used while the session sampled since from, up to when it
	// had used mark in all.
	used, mark  time.Duration
	calibration calibration
}

func newSession(h *hub, o Options, tl *observer.Timeline, keep func(*profile.Call) bool, onFull func()) *session {
	s := &session{hub: h, o: o, onFull: onFull, keep: keep, part: newPart(keep), axis: axis{timeline: tl}}
	s.ready.Lock()
	s.axis.read()
	return s
}

// watch ends the session when ctx is over.
func (s *session) watch(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished {
		s.unwatch = context.AfterFunc(ctx, s.stop)
	}
}

func (s *session) state() State {
	if s.ended.Load() != 0 {
		return Stopped
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused != 0 {
		return Paused
	}
	return Started
}

func (s *session) realInterval() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interval
}

// uses notes which engine samples for the session, why it is no better one, and at which interval.
func (s *session) uses(engine, fallback string, interval time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.engine, s.fallback, s.interval = engine, fallback, interval
}

func (s *session) engineInUse() (name, fallback string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine, s.fallback
}

// budget is the share of a core that a wall engine may take for the session.
func (s *session) budget() float64 {
	if s.o.WallBudget == 0 {
		return 0.01
	}
	return s.o.WallBudget
}

// begin lets the session take samples.
func (s *session) begin(at int64) {
	s.begun, s.from = at, at
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mark = sampling.ProcessCPU()
	s.sampled = s.hub.on
}

// pause and resume tell the session that nothing is sampled between two times. What
// comes after its end is no gap of its.
func (s *session) pause(at int64) {
	end := s.ended.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == 0 && (end == 0 || at < end) {
		s.charge()
		s.paused = at
	}
}

func (s *session) resume(at int64) {
	if end := s.ended.Load(); end != 0 {
		at = min(at, end)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == 0 {
		return
	}
	s.stats = s.countsUntil(at)
	s.paused, s.busy, s.mark = 0, false, sampling.ProcessCPU()
	s.sampled = s.sampled || s.ended.Load() == 0
}

// yield tells the session, which is paused, that other code has the CPU profiler.
func (s *session) yield() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = s.paused != 0
}

// charge counts the CPU time used since the last mark. s.mu is held, and the session is
// not paused.
func (s *session) charge() {
	now := sampling.ProcessCPU()
	s.used += now - s.mark
	s.mark = now
}

// counts are the session's up to now, with a gap that has not ended.
func (s *session) counts() profile.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := s.ended.Load()
	if until == 0 {
		until = sampling.Now()
	}
	return s.countsUntil(until)
}

// countsUntil is counts with the time that a gap lasts until. s.mu is held.
func (s *session) countsUntil(at int64) profile.Stats {
	c := s.stats
	if s.paused != 0 && at >= s.paused {
		gap := time.Duration(at - s.paused)
		c.Gaps++
		c.GapTime += gap
		if s.busy {
			c.BusyGaps++
			c.BusyTime += gap
		}
	}
	return c
}

func (s *session) charged(lost uint64, cost time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Lost += lost
	s.stats.SampleCost = cost
}

// take adds a sample, unless it is not this session's turn.
func (s *session) take(sm *sampling.Sample, ran *ranFor, forced bool) {
	if s.closed || s.begun == 0 || sm.At < s.begun {
		return
	}
	own := *sm
	if end := s.ended.Load(); end != 0 && sm.At > end {
		if sm.Since == 0 || sm.Since > end {
			return
		}
		own.At = end // it was before, for all that is known
	}
	if !forced && !s.thin.turn(&own) {
		return
	}
	counts := s.part.add(&own, ran.in(s.o.Scope))
	s.mu.Lock()
	s.stats.Samples, s.stats.Truncated, s.stats.Filtered = counts.Samples, counts.Truncated, counts.Filtered
	s.mu.Unlock()
	if counts.Samples >= uint64(s.o.MaxBufferSize) {
		s.closed, s.full = true, true
		s.ended.CompareAndSwap(0, max(own.At, 1))
	}
}

// stop ends the session, and returns when that is done.
func (s *session) stop() {
	if s.stopping.Swap(true) {
		s.wait()
		return
	}
	s.axis.read()
	s.ended.CompareAndSwap(0, sampling.Now())
	mine := false
	s.hub.do(func() { mine = s.hub.detach(s) })
	if mine {
		s.finish()
	}
	s.wait()
}

// wait returns when the trace is there.
func (s *session) wait() {
	s.ready.Lock()
	s.ready.Unlock() //nolint:staticcheck // it is waited for, nothing is guarded
}

// cut ends a part of the session and returns its trace, nil if the session has ended.
func (s *session) cut() *profile.Trace {
	s.axis.read()
	var done *part
	s.hub.do(func() {
		if s.ended.Load() != 0 {
			return
		}
		s.hub.flush()
		if s.closed { // these samples filled its buffer, or the engine failed
			return
		}
		at := sampling.Now()
		done, s.part = s.part, newPart(s.keep)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.describe(done, at)
		s.stats, s.used = profile.Stats{}, 0
		if s.paused != 0 {
			s.paused = at
		}
		s.from = at
	})
	if done == nil {
		return nil
	}
	s.axis.read()
	return s.axis.place(done.trace())
}

// describe tells a part, which ends at a time, what its trace is of. s.mu is held.
func (s *session) describe(p *part, at int64) {
	if s.paused == 0 {
		s.charge()
	}
	if !s.o.Wall {
		if s.full { // what was used since is not in the samples
			s.used = 0
		}
		p.factor = s.calibration.factor(s.used, p.weight, s.interval)
	}
	p.engine, p.interval = s.engine, s.interval
	p.started, p.stopped = time.Duration(s.from), time.Duration(at)
	p.stats = s.countsUntil(at)
}

// finish makes the trace. The hub has let go of the session.
func (s *session) finish() {
	s.axis.read()
	s.mu.Lock()
	s.finished = true
	unwatch := s.unwatch
	s.describe(s.part, s.ended.Load())
	if !s.sampled && s.err == nil {
		s.err = fmt.Errorf("profiling: %w: the session of %v has no samples", ErrBusy, time.Duration(s.ended.Load()-s.begun))
	}
	s.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	s.trace, s.part = s.axis.place(s.part.trace()), nil // which would keep labels and symbols
	s.ready.Unlock()
}
