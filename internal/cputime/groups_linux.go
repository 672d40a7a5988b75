package cputime

import (
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/cgroup"
)

// A group is a control group that limits the CPU time of the process.
type group struct {
	cgroup.Group
	processors float64
	throttled  time.Duration // at the last Read
}

func limitedGroups(root fs.FS) (all []group) {
	for _, g := range cgroup.Of(root, "cpu") {
		if n := limit(root, g); n > 0 {
			all = append(all, group{Group: g, processors: n})
		}
	}
	return all
}

// limit returns the number of processors that a group may use, or 0 without a limit.
func limit(root fs.FS, g cgroup.Group) float64 {
	var quota, period string
	if g.Version2 {
		quota, period, _ = strings.Cut(g.Read(root, "cpu.max"), " ")
	} else {
		quota, period = g.Read(root, "cpu.cfs_quota_us"), g.Read(root, "cpu.cfs_period_us")
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(quota), 64) // "max" or -1 without a limit
	p, wrong := strconv.ParseFloat(strings.TrimSpace(period), 64)
	if err != nil || wrong != nil || q <= 0 || p <= 0 {
		return 0
	}
	return q / p
}

// throttledTime returns the time for which the limit stopped threads of a group.
func throttledTime(root fs.FS, g cgroup.Group) time.Duration {
	name, unit := "throttled_time", time.Nanosecond
	if g.Version2 {
		name, unit = "throttled_usec", time.Microsecond
	}
	return time.Duration(g.Count(root, "cpu.stat", name)) * unit //nolint:gosec // 292 years
}
