package profiling

import (
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// follow begins or ends a gap, by what the engine does from a moment on.
func (p *Profiler) follow(s engineState, at int64) {
	if s == engineRunning {
		p.resume(at)
		return
	}
	p.pause(at)
	if s == enginePaused {
		p.markBusy()
	}
}

// pause and resume begin and end a gap, in which nothing is sampled. A gap ends with the profiler
// at the latest.
func (p *Profiler) pause(at int64) {
	end := p.ended.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused == 0 && (end == 0 || at < end) {
		p.countCPU()
		p.paused = at
	}
}

func (p *Profiler) resume(at int64) {
	if end := p.ended.Load(); end != 0 {
		at = min(at, end)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused == 0 {
		return
	}
	p.stats = p.countsUntil(at)
	p.paused, p.busy, p.cpuMark = 0, false, cputime.Process()
}

// markBusy notes that the gap is one in which other code has the CPU profiler.
func (p *Profiler) markBusy() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = p.paused != 0
	p.everBusy = p.everBusy || p.busy
}

// countCPU counts the CPU time that the process used since cpuMark. p.mu is held, and the profiler
// is not paused.
func (p *Profiler) countCPU() {
	now := cputime.Process()
	p.cpuTime += now - p.cpuMark
	p.cpuMark = now
}

// counts returns the counts up to now, with a gap that has not ended.
func (p *Profiler) counts() profile.Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	until := p.ended.Load()
	if until == 0 {
		until = sampling.Now()
	}
	return p.countsUntil(until)
}

// countsUntil returns the counts with a gap that lasts until at. p.mu is held.
func (p *Profiler) countsUntil(at int64) profile.Stats {
	c := p.stats
	if p.paused != 0 && at >= p.paused {
		gap := time.Duration(at - p.paused)
		c.Gaps++
		c.GapTime += gap
		if p.busy {
			c.BusyGaps++
			c.BusyTime += gap
		}
	}
	return c
}

// countEngine counts the samples that the engine lost, and notes what its samples cost.
func (p *Profiler) countEngine(lost uint64, cost time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Lost += lost
	p.stats.SampleCost = cost
}
