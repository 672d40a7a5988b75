package profiling

import (
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// follow begins or ends a gap in the samples, when the engine enters a state. A gap ends at the end
// of the profiler at the latest.
func (p *Profiler) follow(s engineState, at int64) {
	end := p.endedAt.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	if s == engineRunning {
		if end != 0 {
			at = min(at, end)
		}
		if p.pausedAt != 0 {
			p.stats = p.countsUntil(at)
			p.pausedAt, p.busy, p.cpuMark = 0, false, cputime.Process()
		}
		return
	}
	if p.pausedAt == 0 && (end == 0 || at < end) {
		p.countCPU()
		p.pausedAt = at
	}
	if s == enginePaused {
		p.busy = p.pausedAt != 0
		p.everBusy = p.everBusy || p.busy
	}
}

// countCPU adds the CPU time that the process used since cpuMark. p.mu is held, and the profiler is
// not paused.
func (p *Profiler) countCPU() {
	now := cputime.Process()
	p.cpuTime += now - p.cpuMark
	p.cpuMark = now
}

// Stats returns the counts of samples and gaps since Start, or since the last call of
// [Profiler.TakeTrace].
func (p *Profiler) Stats() profile.Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	until := p.endedAt.Load()
	if until == 0 {
		until = sampling.Now()
	}
	return p.countsUntil(until)
}

// countsUntil returns the counts with the present gap, if any, up to at. p.mu is held.
func (p *Profiler) countsUntil(at int64) profile.Stats {
	c := p.stats
	if p.pausedAt != 0 && at >= p.pausedAt {
		gap := time.Duration(at - p.pausedAt)
		c.Gaps++
		c.GapTime += gap
		if p.busy {
			c.BusyGaps++
			c.BusyTime += gap
		}
	}
	return c
}

// countEngine counts samples that the engine lost, and sets the cost of a sample.
func (p *Profiler) countEngine(lost uint64, cost time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Lost += lost
	p.stats.SampleCost = cost
}
