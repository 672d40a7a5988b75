package perfline

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

const profilesExporter = "OTEL_PROFILES_EXPORTER"

// startProfileExporter starts the exporter of profiles. It returns nil if there is none, or if
// OTEL_PROFILES_EXPORTER or PERFLINE_PROFILING forbids it.
func startProfileExporter(ctx context.Context, c Config, res *resource.Resource,
	vars *environ.Reader) (profiling.Exporter, error) {
	switch names := environ.List(vars, profilesExporter, "otlp with Config.ProfileExporter"); {
	case slices.Contains(names, "none"):
		return nil, nil //nolint:nilnil // documented: nil means that there is nothing to send
	case c.ProfileExporter == nil:
		if len(names) > 0 {
			c.Logger.Warn("perfline: no profiles are sent over OTLP: set Config.ProfileExporter to otlpprofiles.New of github.com/perfline/perfline/profiling/otlpprofiles",
				"variable", profilesExporter, "value", names[0])
		}
		return nil, nil //nolint:nilnil // documented
	}
	err := c.ProfileExporter.Start(environ.NewContext(ctx, vars), res, c.Logger)
	switch {
	case errors.Is(err, profiling.ErrNotAllowed):
		if !vars.Wrong(permission.Variable) && !c.Profiles.Enabled() { // else it is said already
			c.Logger.Warn("perfline: no profiles are taken", "reason", err)
		}
		return nil, nil //nolint:nilnil // documented
	case err != nil:
		return nil, err
	}
	return c.ProfileExporter, nil
}

// LastMinute returns the CPU samples of the last minute, from the profiler that runs all the time
// for Pyroscope or OTLP. It returns nil if none runs. The samples of the last seconds come with the
// next profile. The first call returns a trace without samples. From then on samples stay in
// memory, at most 2^18, until no call came for five minutes.
func (p *Pipeline) LastMinute() *profile.Trace {
	switch {
	case p.profiles != nil:
		return p.profiles.LastMinute()
	case p.exported != nil:
		return p.exported.LastMinute()
	}
	return nil
}
