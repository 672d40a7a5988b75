package profiling

import (
	"fmt"
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// begin lets the profiler take samples.
func (p *Profiler) begin(at int64) {
	p.begun, p.from, p.thin.begun = at, at, at
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cpuMark = cputime.Process()
}

// setEngine notes which engine samples, the reason why it is no better one, and at which interval
// it samples for the profiler.
func (p *Profiler) setEngine(engine profile.Engine, fallback string, interval time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.engine, p.fallback, p.interval = engine, fallback, interval
}

// add adds a sample, unless it is not this profiler's turn.
func (p *Profiler) add(sm *sampling.Sample, ran *ranFor, forced bool) {
	if p.closed || p.begun == 0 || sm.At < p.begun {
		return
	}
	own := *sm
	if end := p.ended.Load(); end != 0 && sm.At > end {
		if sm.Since == 0 || sm.Since > end {
			return
		}
		own.At = end // as far as is known, it was taken before the end
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
		p.ended.CompareAndSwap(0, max(own.At, 1))
	}
}

// takePart ends a part and returns its trace. It returns nil if the profiler has ended.
func (p *Profiler) takePart() *profile.Trace {
	p.axis.read()
	var taken *part
	p.hub.do(func() {
		if p.ended.Load() != 0 {
			return
		}
		p.hub.flush()
		if p.closed { // these samples filled its buffer, or the engine failed
			return
		}
		at := sampling.Now()
		taken, p.part = p.part, newPart(p.keep)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.describe(taken, at)
		p.stats, p.cpuTime = profile.Stats{}, 0
		if p.paused != 0 {
			p.paused = at
		}
		p.from = at
	})
	if taken == nil {
		return nil
	}
	p.axis.read()
	return p.axis.convert(taken.trace())
}

// describe completes a part that ends at a time. p.mu is held.
func (p *Profiler) describe(of *part, at int64) {
	if p.paused == 0 {
		p.countCPU()
	}
	if !p.o.Wall && !p.full { // a full buffer lacks the samples of what was used since
		of.cpuTime = p.cpuTime
	}
	of.engine, of.interval, of.modules = p.engine, p.interval, p.o.Modules
	of.started, of.stopped = time.Duration(p.from), time.Duration(at)
	of.stats = p.countsUntil(at)
}

// stop ends the profiler, and returns when its trace is complete.
func (p *Profiler) stop() {
	if p.stopping.Swap(true) {
		p.wait()
		return
	}
	p.axis.read()
	p.ended.CompareAndSwap(0, sampling.Now())
	detached := false
	p.hub.do(func() { detached = p.hub.detach(p) })
	if detached {
		p.makeTrace()
	}
	p.wait()
}

// wait returns when the trace is complete.
func (p *Profiler) wait() {
	p.ready.Lock()
	p.ready.Unlock() //nolint:staticcheck // it is waited for, nothing is guarded
}

// makeTrace makes the trace. The hub has let go of the profiler.
func (p *Profiler) makeTrace() {
	p.axis.read()
	p.mu.Lock()
	p.finished = true
	unwatch := p.unwatch
	p.describe(p.part, p.ended.Load())
	if p.everBusy && !p.sampled && p.err == nil {
		p.err = fmt.Errorf("profiling: %w: the profile of %v has no samples", ErrBusy,
			time.Duration(p.ended.Load()-p.begun))
	}
	p.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	p.result, p.part = p.axis.convert(p.part.trace()), nil // which would keep labels and symbols
	p.ready.Unlock()
}
