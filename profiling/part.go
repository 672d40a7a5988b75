package profiling

import (
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// windowEngine is the name of the engine that knows no samples' times, in [profile.Trace] Engine.
const windowEngine = "window"

// A part is what a session samples until it ends, or until the part is taken.
type part struct {
	build  *profile.Builder
	weight time.Duration // of all samples
	coarse bool          // some samples have no time of their own

	// The description of the trace, see session.describe.
	engine           string
	interval         time.Duration
	started, stopped time.Duration
	stats            profile.Stats
	factor           float64 // that weights are multiplied by; at most 1 leaves them
}

func newPart(keep func(*profile.Call) bool) *part {
	return &part{build: profile.NewBuilder(keep)}
}

// add records a sample, and returns the counts of the part's samples.
func (p *part) add(sm *sampling.Sample, ran ranFor) profile.Stats {
	p.build.Add(sm.Stack, profile.Sample{
		Timestamp: time.Duration(sm.At), ContextID: p.build.Context(ran.key(), ran.context),
		Count: sm.Count, Weight: sm.Weight, Marker: sm.Marker, Truncated: sm.Cut,
	})
	p.weight += sm.Weight
	p.coarse = p.coarse || sm.Since != 0
	return p.build.Stats()
}

// trace returns the part's trace, by the clock of samples. The part must not be used any more.
func (p *part) trace() *profile.Trace {
	t := p.build.Trace(endName)
	t.Engine, t.Interval, t.Started, t.Stopped, t.Stats = p.engine, p.interval, p.started, p.stopped, p.stats
	if p.coarse {
		t.Engine = windowEngine
	}
	if p.factor > 1 {
		for i := range t.Samples {
			s := &t.Samples[i]
			s.Weight = time.Duration(float64(s.Weight) * p.factor)
		}
	}
	return t
}
