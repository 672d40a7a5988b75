package sessions

import (
	"context"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// A sampler takes the samples of a session, as [profiling.Profiler] documents.
type sampler interface {
	TakeTrace() (*profile.Trace, error)
	Stop() (*profile.Trace, error)
	Stopped() bool
	State() profiling.State
	Engine() profile.Engine
	Stats() profile.Stats
}

var _ sampler = (*profiling.Profiler)(nil)

// startProfiler starts a profiler. With remote set, the policy must allow the start.
func (c *Config) startProfiler(
	ctx context.Context, remote bool, o profiling.Options,
) (sampler, error) {
	start := profiling.Start
	if remote {
		start = c.Policy.Start
	}
	p, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	return p, nil
}
