package main

import (
	"context"
	"strconv"
	"time"

	"github.com/perfline/perfline/lab/internal/cgroup"
)

// limit is how many processors the service may use in a series with a limit.
const limit = 0.25

// Periods of the limit. The kernel's default is as long as a request, and stops a process once or
// twice in one. The smaller part of a pair needs shorter stops: it may come and go between two long
// ones.
const (
	longPeriod  = 100 * time.Millisecond
	shortPeriod = 20 * time.Millisecond
)

// newGroup makes a control group with a limit of CPU time.
func newGroup(ctx context.Context, root string, period time.Duration) (cgroup.Group, error) {
	return cgroup.New(ctx, root, "cpu",
		func(second bool) []cgroup.Setting { return settings(second, period) })
}

// settings are the limit as the versions of groups have it: a part of each period, in microseconds.
func settings(second bool, period time.Duration) []cgroup.Setting {
	whole := strconv.FormatInt(period.Microseconds(), 10)
	part := strconv.FormatInt(int64(limit*float64(period.Microseconds())), 10)
	if second {
		return []cgroup.Setting{{File: "cpu.max", Text: part + " " + whole}}
	}
	return []cgroup.Setting{
		{File: "cpu.cfs_period_us", Text: whole}, {File: "cpu.cfs_quota_us", Text: part},
	}
}
