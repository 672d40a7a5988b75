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
	return medianOf(slices.Clone(values))
}

// medianOf returns the middle of some values, and sorts them.
func medianOf(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
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

// A ratio is how many times as much one figure is as another, and the bounds between which 95
// of 100 repetitions of the measurement find it.
type ratio struct{ median, low, high float64 }

// resamples is how often the rounds are drawn anew for the bounds.
const resamples = 4000

// ratioOf compares the medians of paired values: one index is one round.
func ratioOf(values, base []float64) ratio {
	return bootstrapped(values, base, resamples,
		func(a, b []float64) float64 { return medianOf(a) / medianOf(b) })
}

// ratioOfSums compares sums of rounds, which plus adds up and of makes a figure of. Sums suit
// rounds that have few samples each.
func ratioOfSums[T any](values, base []T, plus func(a, b T) T, of func(T) float64) ratio {
	sum := func(all []T) (s T) {
		for _, v := range all {
			s = plus(s, v)
		}
		return s
	}
	return bootstrapped(values, base, resamples,
		func(a, b []T) float64 { return of(sum(a)) / of(sum(b)) })
}

// bootstrapped returns the ratio of paired rounds and its bounds: rounds are drawn with
// replacement, and the ratio is computed for each drawing. Equal values give equal bounds. The
// function may change the order of its arguments.
func bootstrapped[T any](values, base []T, drawings int, of func(values, base []T) float64) ratio {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not a secret: drawings have to be the same every time
	a, b := slices.Clone(values), slices.Clone(base)
	r := ratio{median: of(a, b)}
	drawn := make([]float64, drawings)
	for i := range drawn {
		for k := range a {
			round := random.IntN(len(values))
			a[k], b[k] = values[round], base[round]
		}
		drawn[i] = of(a, b)
	}
	slices.Sort(drawn)
	r.low, r.high = quantile(drawn, 0.025), quantile(drawn, 0.975)
	return r
}

// quantile returns the value of sorted below which the share q of them is.
func quantile[T any](sorted []T, q float64) T { return sorted[int(q*float64(len(sorted)-1)+0.5)] }
