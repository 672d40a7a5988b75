package analysis

import (
	"slices"
	"time"

	"github.com/perfline/perfline/profiling/states"
)

// coarsen puts intervals together that lie within one grain of time and belong to one span. Each group has one interval
// for each kind, with the total of its durations and the stack of the longest one. It changes the slice, and returns it.
func coarsen(intervals []states.Interval, grain time.Duration) []states.Interval {
	result := intervals[:0]
	for len(intervals) > 0 {
		group, start := 1, intervals[0].Start
		for group < len(intervals) && belongs(&intervals[group-1], &intervals[group]) && intervals[group].End-start <= grain {
			group++
		}
		result = append(result, byKind(intervals[:group])...)
		intervals = intervals[group:]
	}
	return result
}

func belongs(a, b *states.Interval) bool {
	return a.SpanID == b.SpanID && a.End == b.Start && a.Kind != states.Gap && b.Kind != states.Gap
}

// byKind returns one interval for each kind of a group, the first one first.
func byKind(group []states.Interval) []states.Interval {
	if len(group) == 1 {
		return []states.Interval{group[0]}
	}
	var kinds []states.Interval
	var totals, longest [states.Kinds]time.Duration
	for _, i := range group {
		n := slices.IndexFunc(kinds, func(k states.Interval) bool { return k.Kind == i.Kind })
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
