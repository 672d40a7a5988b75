package perfline

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/pyroscope"
)

const profilesExporter = "OTEL_PROFILES_EXPORTER"

// A profileRun records and delivers profiles: a run of perfline's own exporters, or an exporter of
// the program.
type profileRun interface {
	Flush(ctx context.Context) error
	Shutdown(ctx context.Context) error
	LastMinute() *profile.Trace
}

// startProfiles starts the exporters of profiles. perfline's own exporters share one source.
// startProfiles returns nil if PERFLINE_PROFILING forbids profiling: the exporters do not start
// then.
func (p *Pipeline) startProfiles(
	ctx context.Context, c Config, res *resource.Resource, vars *environ.Reader,
) error {
	var own []*continuous.Exporter
	push := pyroscope.New(c.Profiles).(*continuous.Exporter) //nolint:forcetypeassert // as New has it
	if push.Addressed() {
		p.profiles = push
		own = append(own, push)
	}
	p.exported = profileExporter(c, vars)
	shared, ok := p.exported.(*continuous.Exporter)
	if ok {
		own = append(own, shared)
	}
	var err error
	start := func(r profileRun, failed error) {
		if err = failed; err == nil {
			p.profileRuns = append(p.profileRuns, r)
		}
	}
	if len(own) > 0 {
		env := continuous.Environment{Resource: res, Logger: c.Logger, Vars: vars}
		start(continuous.StartExporters(ctx, env, own...))
	}
	if p.exported != nil && !ok && err == nil {
		p.exported = &guardedProfiles{exporter: p.exported,
			timeline: (*record.Timeline)(c.Timeline)}
		start(p.exported, p.exported.Start(ctx, res, c.Logger))
	}
	if !errors.Is(err, profiling.ErrNotAllowed) {
		return err
	}
	if !vars.Wrong(permission.Variable) { // a wrong value is logged already
		c.Logger.Warn("perfline: no profiles are taken", "reason", err)
	}
	if p.exported = nil; len(p.profileRuns) == 0 {
		p.profiles = nil
	}
	return nil
}

// profileExporter returns Config.ProfileExporter, unless OTEL_PROFILES_EXPORTER forbids it.
func profileExporter(c Config, vars *environ.Reader) profiling.Exporter {
	names := environ.List(vars, profilesExporter, "otlp with Config.ProfileExporter")
	if slices.Contains(names, "none") {
		return nil
	}
	if c.ProfileExporter == nil && len(names) > 0 {
		c.Logger.Warn("perfline: no profiles are sent over OTLP: set Config.ProfileExporter to "+
			"otlpprofiles.New of github.com/perfline/perfline/profiling/otlpprofiles",
			"variable", profilesExporter, "value", names[0])
	}
	return c.ProfileExporter
}

// LastMinute returns the CPU samples of the last minute from the continuous profiler. LastMinute
// returns nil if continuous profiling is off.
//
// The first call returns a trace without samples, and starts to store samples in memory. The
// profiler stores at most 2^18 samples, and stops five minutes after the last call. The trace lacks
// the samples of the last seconds, because samples become available with the next profile.
func (p *Pipeline) LastMinute() *profile.Trace {
	if len(p.profileRuns) == 0 {
		return nil
	}
	return p.profileRuns[0].LastMinute()
}
