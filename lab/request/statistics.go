package main

import (
	"math/rand/v2"
	"slices"
)

// median returns the middle of values, which it does not change; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}

// differences returns what values has more than base, pair by pair.
func differences(values, base []float64) []float64 {
	d := make([]float64, len(values))
	for i := range d {
		d[i] = values[i] - base[i]
	}
	return d
}

// A ratio is how many times as much one median is as another, and the bounds between which 95
// of 100 repetitions of the measurement find it.
type ratio struct{ median, low, high float64 }

// resamples is how often the rounds are drawn anew for the bounds.
const resamples = 4000

// ratioOf compares paired values: one index is one round. The bounds are of a
// bootstrap: rounds are drawn with replacement, and the ratio of the medians computed for each
// drawing. Equal values give equal bounds.
func ratioOf(values, base []float64) ratio {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not a secret: drawings have to be the same every time
	a, b := make([]float64, len(values)), make([]float64, len(values))
	drawn := make([]float64, resamples)
	for i := range drawn {
		for k := range a {
			round := random.IntN(len(values))
			a[k], b[k] = values[round], base[round]
		}
		drawn[i] = median(a) / median(b)
	}
	slices.Sort(drawn)
	return ratio{median(values) / median(base), quantile(drawn, 0.025), quantile(drawn, 0.975)}
}

// quantile returns the value of sorted below which the share q of them is.
func quantile[T any](sorted []T, q float64) T { return sorted[int(q*float64(len(sorted)-1)+0.5)] }
