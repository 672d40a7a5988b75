package profiling

import (
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// A part holds the samples of a profiler since Start or the last TakeTrace.
type part struct {
	build  *profile.Builder
	coarse bool // some samples have only the time of their window

	// The description of the trace, see Profiler.describe.
	engine           profile.Engine
	modules          []string
	interval         time.Duration
	started, stopped time.Duration
	cpuTime          time.Duration
	stats            profile.Stats
}

// add adds a sample, and returns the counts of the part's samples.
func (p *part) add(sm *sampling.Sample, ran attribution) profile.Stats {
	p.build.Add(sm.Stack, profile.Sample{
		Timestamp: time.Duration(sm.At), ContextID: p.build.Context(ran.key(), ran.context),
		Count: sm.Count, Weight: sm.Weight, Marker: sm.Marker, Truncated: sm.Cut,
	})
	p.coarse = p.coarse || sm.Since != 0
	return p.build.Stats()
}

// trace returns the part's trace with times of [sampling.Now], and ends the use of the part.
func (p *part) trace() *profile.Trace {
	t := p.build.Trace(endName)
	t.Modules = p.modules
	t.Engine, t.Interval, t.Started, t.Stopped, t.CPUTime, t.Stats = p.engine, p.interval,
		p.started, p.stopped, p.cpuTime, p.stats
	if p.coarse {
		t.Engine = profile.EngineWindow
	}
	return t
}
