package analysis

import (
	"slices"
	"time"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// coarsen groups adjacent intervals of one span within one grain of time. One interval for each
// kind replaces a group, with the total duration and the stack of the longest interval.
func coarsen(intervals []waits.Interval, grain time.Duration) []waits.Interval {
	result := intervals[:0]
	for len(intervals) > 0 {
		group, start := 1, intervals[0].Start
		for group < len(intervals) && joinable(&intervals[group-1], &intervals[group]) &&
			intervals[group].End-start <= grain {
			group++
		}
		result = append(result, byKind(intervals[:group])...)
		intervals = intervals[group:]
	}
	return result
}

func joinable(a, b *waits.Interval) bool {
	return a.SpanID == b.SpanID && a.End == b.Start && a.Kind != waits.Gap && b.Kind != waits.Gap
}

// byKind returns one interval for each kind of a group, in the order of their first intervals.
func byKind(group []waits.Interval) []waits.Interval {
	var kinds []waits.Interval
	var totals, longest [waiting.Kinds]time.Duration
	for _, i := range group {
		n := slices.IndexFunc(kinds, func(k waits.Interval) bool { return k.Kind == i.Kind })
		if n < 0 {
			n = len(kinds)
			kinds = append(kinds, i)
		}
		totals[i.Kind] += i.Duration()
		if i.Duration() > longest[i.Kind] {
			longest[i.Kind] = i.Duration()
			kinds[n] = i
		}
	}
	at := group[0].Start
	for n := range kinds {
		kinds[n].Start, kinds[n].End = at, at+totals[kinds[n].Kind]
		at = kinds[n].End
	}
	return kinds
}
