package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestScheduleIsTheSame(t *testing.T) {
	const length = 20 * time.Minute
	first := schedule(7, length)
	if again := schedule(7, length); !slices.Equal(first, again) {
		t.Errorf("the same seed and length make\n%v\nand\n%v", first, again)
	}
	if other := schedule(8, length); slices.Equal(first, other) {
		t.Error("another seed makes the same faults")
	}
	// What was printed once is what a later version plays: a change of the numbers is one
	// that the changelog has to tell.
	if got, want := fmt.Sprint(first[0]), "1m42.36s … 3m21.013s Pyroscope slow"; got != want {
		t.Errorf("the first fault of seed 7 is %q, was %q", got, want)
	}
}

func TestScheduleKeepsItsRules(t *testing.T) {
	for _, length := range []time.Duration{minLength, time.Minute, 20 * time.Minute, 24 * time.Hour} {
		for seed := range uint64(50) {
			t.Run(fmt.Sprint(length, " ", seed), func(t *testing.T) {
				free := map[component]time.Duration{} // from when on a component is well
				var begin time.Duration
				for _, e := range schedule(seed, length) {
					if e.begin < begin {
						t.Errorf("%v begins before the one before it", e)
					}
					begin = e.begin
					if at, before := free[e.component]; before && e.begin < at+length/50 {
						t.Errorf("%v begins %v after the component's last fault", e, e.begin-at)
					}
					free[e.component] = e.end()
					if e.length < length/50 || e.end() > length*9/10 || !slices.Contains(kinds, e.kind) {
						t.Errorf("%v is too short, too late or of no kind", e)
					}
				}
				if len(free) != len(components) {
					t.Errorf("faults of %d components, want all %d", len(free), len(components))
				}
			})
		}
	}
}

func TestQuarters(t *testing.T) {
	const length = 100 * time.Second
	heap := func(of func(second int) uint64) *series {
		s := &series{}
		for i := range 100 {
			s.samples = append(s.samples, sample{at: time.Duration(i) * time.Second, heap: of(i)})
		}
		return s
	}
	for _, c := range []struct {
		name string
		of   *series
		ok   bool
	}{
		{"flat", heap(func(int) uint64 { return 10 << 20 }), true},
		{"young at first", heap(func(i int) uint64 { return uint64(min(i, 25)) << 20 }), true},
		{"a full queue at the end", heap(func(i int) uint64 { return uint64(10+i/85*30) << 20 }), true},
		{"grows all the time", heap(func(i int) uint64 { return uint64(i) << 20 }), false},
		{"never looked at", &series{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			second, last, err := c.of.quarters(length)
			if (err == nil) != c.ok {
				t.Errorf("%d bytes in the second quarter and %d in the last: %v", second, last, err)
			}
		})
	}
}
