package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

// A component is one of the three that fail.
type component string

const (
	jaegerComponent    component = "Jaeger"
	collectorComponent component = "Collector"
	pyroscopeComponent component = "Pyroscope"
)

var components = []component{jaegerComponent, collectorComponent, pyroscopeComponent}

// killed is the kind of fault that is no proxy's: the process is killed, and started
// again when the time is over.
const killed trial.Kind = "killed"

var kinds = []trial.Kind{trial.Refuse, trial.Hang, trial.Slow, trial.Garbage, killed}

// An episode is a fault of one component, from its begin for its length.
type episode struct {
	component component
	kind      trial.Kind
	begin     time.Duration // since the load began
	length    time.Duration
}

func (e episode) end() time.Duration { return e.begin + e.length }

func (e episode) String() string {
	return fmt.Sprintf("%8v … %-8v %s %s", e.begin, e.end(), e.component, e.kind)
}

// schedule makes up faults for a soak of that length, by begin. The same seed and length
// give the same ones. A component has one at a time, the three know nothing of each
// other, and the last tenth of the time is without.
func schedule(seed uint64, length time.Duration) []episode {
	random := rand.New(rand.NewPCG(seed, uint64(length)))
	// between is a time from least to most percent of the whole, of whole milliseconds:
	// what is printed is all of it.
	between := func(least, most float64) time.Duration {
		share := (least + random.Float64()*(most-least)) / 100
		return time.Duration(share * float64(length)).Truncate(time.Millisecond)
	}
	var all []episode
	for _, c := range components {
		for at := between(4, 12); ; {
			e := episode{component: c, kind: kinds[random.IntN(len(kinds))], begin: at, length: between(5, 10)}
			if e.end() > length*9/10 {
				break
			}
			all = append(all, e)
			at = e.end() + between(4, 12)
		}
	}
	slices.SortStableFunc(all, func(a, b episode) int { return cmp.Compare(a.begin, b.begin) })
	return all
}
