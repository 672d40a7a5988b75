package sessions_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// A player is a sampler that takes samples when a test says so.
type player struct {
	tl *observer.Timeline
	o  profiling.Options

	mu     sync.Mutex // guards what follows
	engine profile.Engine
	cost   time.Duration // of a sample
	busy   bool          // other code has the CPU profiler all the time
	part   []profile.Sample
	began  time.Duration // of part, on tl
	state  profiling.State
	final  *profile.Trace
}

// play lets sessions sample by players. The function returns the last one.
func (s *studio) play() (last func() *player) {
	var p *player
	s.SampleBy(func(o profiling.Options) sessions.Sampler {
		p = &player{tl: s.tl, o: o, engine: profile.EngineCPU, state: profiling.Started, began: s.tl.Now()}
		if o.Wall {
			p.engine = profile.EngineWall
		}
		return p
	})
	return func() *player { return p }
}

// sample takes n samples now, as far as there is room.
func (p *player) sample(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range n {
		if p.state != profiling.Started {
			return
		}
		at := p.tl.Now()
		p.part = append(p.part, profile.Sample{Timestamp: at, ContextID: profile.None, Count: 1, Weight: 10 * ms})
		if len(p.part) == p.o.MaxBufferSize {
			p.end()
		}
	}
}

// end makes the trace of the last part. p.mu is held.
func (p *player) end() {
	if p.state != profiling.Stopped {
		p.state, p.final = profiling.Stopped, p.take()
	}
}

// take ends a part, and returns its trace. p.mu is held.
func (p *player) take() *profile.Trace {
	now := p.tl.Now()
	t := &profile.Trace{
		Frames: []profile.Frame{{Name: "main.work", ResourceID: profile.None}}, Stacks: []profile.Stack{{FrameID: 0, ParentID: profile.None}},
		Samples: p.part, Engine: p.engine, Interval: p.o.SampleInterval, Origin: p.tl.Origin(), Started: p.began, Stopped: now,
	}
	t.Stats = p.stats()
	if p.busy {
		t.Stats.BusyGaps, t.Stats.BusyTime = 1, now-p.began
	}
	p.part, p.began = nil, now
	return t
}

func (p *player) stats() profile.Stats {
	return profile.Stats{Samples: uint64(len(p.part)), SampleCost: p.cost}
}

func (p *player) TakeTrace() (*profile.Trace, error) {
	p.mu.Lock()
	if p.state == profiling.Stopped {
		p.mu.Unlock()
		return p.Stop()
	}
	defer p.mu.Unlock()
	return p.take(), nil
}

func (p *player) Stop() (*profile.Trace, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	if p.busy {
		return p.final, fmt.Errorf("the player: %w", profiling.ErrBusy)
	}
	return p.final, nil
}

func (p *player) State() profiling.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *player) Stopped() bool { return p.State() == profiling.Stopped }

func (p *player) Engine() profile.Engine { return p.engine }

func (p *player) Stats() profile.Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.final != nil {
		return p.final.Stats
	}
	return p.stats()
}
