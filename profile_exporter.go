package perfline

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/exporter"
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

// profiling returns how profiles were taken, for Pyroscope and over OTLP. Both see the same gaps
// and lose the same samples of one CPU profiler: the larger counts stand for both.
func (s Stats) profiling() profiling.ContinuousStats {
	f, all := s.Profiles.ContinuousStats, s.OTLPProfiles.ContinuousStats
	all.Failed += f.Failed
	all.PutOff += f.PutOff
	all.Restarts += f.Restarts
	all.LostSamples = max(all.LostSamples, f.LostSamples)
	all.Gaps, all.GapTime = max(all.Gaps, f.Gaps), max(all.GapTime, f.GapTime)
	all.BusyGaps, all.BusyTime = max(all.BusyGaps, f.BusyGaps), max(all.BusyTime, f.BusyTime)
	if f.State != "" {
		all.State, all.Engine, all.Fallback = f.State, f.Engine, f.Fallback
	}
	return all
}

// overOTLP returns the counts of profiles over OTLP in the form of other signals: failed profiles
// are refused or unanswered.
func overOTLP(s profiling.ExporterStats) exporter.Stats {
	return exporter.Stats{
		Accepted: s.Accepted, Delivered: s.Delivered, Failed: s.Refused + s.Unanswered,
		Dropped: s.Dropped, Pending: s.Pending, PendingBytes: s.PendingBytes,
		Unanswered: s.Unanswered, Retries: s.Retries,
	}
}

// otlpProfileCounts lists the counts of profiles over OTLP.
func (s Stats) otlpProfileCounts(all *countList) {
	d := overOTLP(s.OTLPProfiles)
	all.add("perfline.delivery.otlp_profiles", delivered("profiles over OTLP", fullOrUnknown, d)...)
	all.add("perfline.delivery.otlp_profiles.unanswered",
		exporter.Count{N: d.Unanswered,
			What: "failed profiles over OTLP that the receiver may have: its answer did not arrive"})
	all.add("perfline.delivery.otlp_profiles.retries",
		exporter.Count{N: d.Retries, What: "requests with profiles over OTLP that were sent again"})
}
