package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestScheduleIsTheSame(t *testing.T) {
	const length = 20 * time.Minute
	first := random(7, length)
	if again := random(7, length); !slices.Equal(first, again) {
		t.Errorf("the same seed and length make\n%v\nand\n%v", first, again)
	}
	if other := random(8, length); slices.Equal(first, other) {
		t.Error("another seed makes the same faults")
	}
	// A later version plays the same schedule. A change of the numbers belongs in the
	// changelog.
	if got, want := fmt.Sprint(first[0]), "1m42.36s … 3m21.013s Pyroscope slow"; got != want {
		t.Errorf("the first fault of seed 7 is %q, was %q", got, want)
	}
}

func TestScheduleKeepsItsRules(t *testing.T) {
	for _, length := range []time.Duration{minRandom, time.Minute, 20 * time.Minute, 24 * time.Hour} {
		for seed := range uint64(50) {
			t.Run(fmt.Sprint(length, " ", seed), func(t *testing.T) {
				free := map[string]time.Duration{} // from when on a component is well
				var begin time.Duration
				for _, e := range random(seed, length) {
					if e.begin < begin {
						t.Errorf("%v begins before the one before it", e)
					}
					begin = e.begin
					if at, before := free[e.component]; before && e.begin < at+length/50 {
						t.Errorf("%v begins %v after the component's last fault", e, e.begin-at)
					}
					free[e.component] = e.end()
					if e.length < length/50 || e.end() > length*9/10 || !slices.Contains(randomKinds, e.kind) {
						t.Errorf("%v is too short, too late or of no kind", e)
					}
				}
				if len(free) != len(randomComponents) {
					t.Errorf("faults of %d components, want all %d", len(free), len(randomComponents))
				}
			})
		}
	}
}
