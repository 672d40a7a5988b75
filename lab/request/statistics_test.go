package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"none", nil, 0},
		{"one", []float64{3}, 3},
		{"odd", []float64{9, 1, 4}, 4},
		{"even: between the middle two", []float64{9, 1, 4, 5}, 4.5},
	} {
		before := slices.Clone(c.values)
		if got := median(c.values); got != c.want {
			t.Errorf("%s: the median of %v is %v, want %v", c.name, c.values, got, c.want)
		}
		if !slices.Equal(c.values, before) {
			t.Errorf("%s: median has changed its argument %v to %v", c.name, before, c.values)
		}
	}
}

// The machine's drift is in both values of a round, and must not be in what is added.
func TestAddedIsPaired(t *testing.T) {
	base, values := []float64{10, 20, 30, 40, 50}, []float64{13, 22, 33, 44, 53}
	if got := median(differences(values, base)); got != 3 {
		t.Errorf("the median of paired differences is %v, want 3", got)
	}
	r := result{names: []string{"none", "theirs", "ours"}, samples: make([][]sample, 3)}
	for round := range base {
		drift := float64(round * 1000)
		r.samples[0] = append(r.samples[0], sample{cpu: drift})
		r.samples[1] = append(r.samples[1], sample{cpu: drift + 40})
		r.samples[2] = append(r.samples[2], sample{cpu: drift + 10})
	}
	if got := r.against(2); got != (ratio{0.25, 0.25, 0.25}) {
		t.Errorf("10 against 40 in every round is %v, want 0.25 without a spread", got)
	}
}

// Of 200 measurements of a known ratio, some 95 % of the bounds hold it.
func TestBoundsHoldTheRatio(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same in every run
	const want, rounds, trials = 0.8, 20, 200
	covered := 0
	for range trials {
		values, base := make([]float64, rounds), make([]float64, rounds)
		for i := range rounds {
			values[i], base[i] = 80+8*random.NormFloat64(), 100+8*random.NormFloat64()
		}
		got := bootstrapped(values, base, 500, func(a, b []float64) float64 { return medianOf(a) / medianOf(b) })
		if got.low > got.median || got.median > got.high {
			t.Fatalf("the ratio %v is not between its bounds", got)
		}
		if got.low <= want && want <= got.high {
			covered++
		}
	}
	if share := float64(covered) / trials; math.Abs(share-0.95) > 0.05 {
		t.Errorf("%.0f %% of the bounds hold the ratio, want some 95 %%", 100*share)
	}
}

// Rounds with few samples are summed: a round without any of the handler's has no ratio of its own.
func TestRatioOfSums(t *testing.T) {
	ours := []tally{{telemetry: 3, handler: 10}, {telemetry: 1}, {handler: 10}}
	theirs := []tally{{telemetry: 10, handler: 10}, {telemetry: 2, handler: 8}, {handler: 2}}
	got := ratioOfSums(ours, theirs, tally.plus, tally.ratio)
	if want := (4.0 / 20) / (12.0 / 20); math.Abs(got.median-want) > 1e-9 {
		t.Errorf("the ratio is %v, want %v", got.median, want)
	}
	same := []tally{{telemetry: 1, handler: 2}, {telemetry: 1, handler: 2}}
	if got := ratioOfSums(same, same, tally.plus, tally.ratio); got != (ratio{1, 1, 1}) {
		t.Errorf("equal rounds give %v, want 1 without a spread", got)
	}
}

// Both values of a drawing are of one round: what all variants of a round have more drops out.
func TestDrawingsArePaired(t *testing.T) {
	values, base := []float64{3, 30, 300}, []float64{1, 10, 100}
	if got := ratioOf(values, base); math.Abs(got.low-3) > 1e-9 || math.Abs(got.high-3) > 1e-9 {
		t.Errorf("3 times as much in each round is %v, want 3 without a spread", got)
	}
}

func TestBoundsAreTheSameEveryTime(t *testing.T) {
	values, base := []float64{7, 9, 8, 12, 5}, []float64{11, 10, 14, 9, 12}
	if a, b := ratioOf(values, base), ratioOf(values, base); a != b {
		t.Errorf("the same values gave %v and %v", a, b)
	}
}
