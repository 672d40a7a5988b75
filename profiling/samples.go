package profiling

import (
	"fmt"
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// begin makes the profiler take samples.
func (p *Profiler) begin(at int64) {
	p.startedAt, p.partStart, p.thin.startedAt = at, at, at
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cpuMark = cputime.Process()
}

// setEngine sets the results of Engine, Fallback and SampleInterval.
func (p *Profiler) setEngine(engine profile.Engine, fallback string, interval time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.engine, p.fallback, p.interval = engine, fallback, interval
}

// add adds a sample if the profiler's interval is over, or if the sample is forced.
func (p *Profiler) add(sm *sampling.Sample, ran *attribution, forced bool) {
	if p.closed || p.startedAt == 0 || sm.At < p.startedAt {
		return
	}
	own := *sm
	if end := p.endedAt.Load(); end != 0 && sm.At > end {
		if sm.Since == 0 || sm.Since > end {
			return
		}
		own.At = end // the sample may be from before the end
	}
	if !forced && !p.thin.turn(&own) {
		return
	}
	counts := p.part.add(&own, ran.of(p.o.Spans))
	p.mu.Lock()
	p.sampled = true
	p.stats.Samples, p.stats.Truncated, p.stats.Filtered = counts.Samples, counts.Truncated,
		counts.Filtered
	p.mu.Unlock()
	if counts.Samples >= uint64(p.o.MaxBufferSize) {
		p.closed, p.full = true, true
		p.endedAt.CompareAndSwap(0, max(own.At, 1))
	}
}

// takePart starts a new part and returns the trace of the last one, or nil if the profiler has
// ended.
func (p *Profiler) takePart() *profile.Trace {
	p.axis.read()
	var taken *part
	p.hub.do(func() {
		if p.endedAt.Load() != 0 {
			return
		}
		p.hub.flush()
		if p.closed { // the flush filled its buffer, or the engine failed
			return
		}
		at := sampling.Now()
		taken, p.part = p.part, &part{build: profile.NewBuilder(p.keep)}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.describe(taken, at)
		p.stats, p.cpuTime = profile.Stats{}, 0
		if p.pausedAt != 0 {
			p.pausedAt = at
		}
		p.partStart = at
	})
	if taken == nil {
		return nil
	}
	p.axis.read()
	return p.axis.convert(taken.trace())
}

// describe sets the description of a part that ends at a time. p.mu is held.
func (p *Profiler) describe(of *part, at int64) {
	if p.pausedAt == 0 {
		p.countCPU()
	}
	if !p.o.Wall && !p.full { // CPU time after the buffer was full has no samples
		of.cpuTime = p.cpuTime
	}
	of.engine, of.interval, of.modules = p.engine, p.interval, p.o.Modules
	of.started, of.stopped = time.Duration(p.partStart), time.Duration(at)
	of.stats = p.countsUntil(at)
}

// stop ends the profiler, and returns when its trace is complete.
func (p *Profiler) stop() {
	if !p.stopping.Swap(true) {
		p.axis.read()
		p.endedAt.CompareAndSwap(0, sampling.Now())
		detached := false
		p.hub.do(func() { detached = p.hub.detach(p) })
		if detached {
			p.makeTrace()
		}
	}
	p.ready.Lock()
	p.ready.Unlock() //nolint:staticcheck // only waits
}

// makeTrace completes the trace, after the hub has removed the profiler.
func (p *Profiler) makeTrace() {
	p.axis.read()
	p.mu.Lock()
	p.finished = true
	stopWatch := p.stopWatch
	p.describe(p.part, p.endedAt.Load())
	if p.everBusy && !p.sampled && p.err == nil {
		p.err = fmt.Errorf("profiling: %w: the profile of %v has no samples", ErrBusy,
			time.Duration(p.endedAt.Load()-p.startedAt))
	}
	p.mu.Unlock()
	if stopWatch != nil {
		stopWatch()
	}
	p.result, p.part = p.axis.convert(p.part.trace()), nil // nil frees labels and symbols
	p.ready.Unlock()
}
