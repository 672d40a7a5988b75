package runtimestats

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// A histogram stores the counts of a runtime's histogram in the previous sample.
type histogram struct{ before []uint64 }

// difference returns the distribution of the durations since the previous sample.
func (h *histogram) difference(v metrics.Value) (d Distribution) {
	if v.Kind() != metrics.KindFloat64Histogram {
		return d
	}
	now := v.Float64Histogram()
	if len(h.before) != len(now.Counts) { // the first sample
		h.before = slices.Clone(now.Counts)
		return d
	}
	for i, n := range now.Counts {
		h.before[i] = n - min(n, h.before[i])
		d.Count += h.before[i]
	}
	if d.Count > 0 {
		d.P50 = quantile(h.before, now.Buckets, (d.Count+1)/2)
		d.P99 = quantile(h.before, now.Buckets, d.Count-d.Count/100)
		d.Max = quantile(h.before, now.Buckets, d.Count)
	}
	copy(h.before, now.Counts)
	return d
}

// quantile returns the upper bound of the bucket with the n-th shortest duration.
func quantile(counts []uint64, bounds []float64, n uint64) time.Duration {
	seen := uint64(0)
	for i, count := range counts {
		if seen += count; seen >= n {
			bound := bounds[i+1]
			if math.IsInf(bound, 1) {
				bound = bounds[i]
			}
			return time.Duration(max(0, bound) * float64(time.Second))
		}
	}
	return 0
}
