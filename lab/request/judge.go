package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// A judgedLoad is a way to load the services, and what they took under it.
type judgedLoad struct {
	measured
	apart  bool      // the client is another process; else the service is its own client
	shares [][]tally // of the profiles, by variant and round; nil where there are none
}

// together and the rates name the judge's loads.
const (
	together = "one process"
	apart    = "apart"
)

// name tells the load apart from the others.
func (l *judgedLoad) name() string {
	where := together
	if l.apart {
		where = apart
	}
	if l.rate == 0 {
		return where + ", flat out"
	}
	return fmt.Sprintf("%s, %d/s", where, l.rate)
}

func newLoads(services []*served) (loads []*judgedLoad) {
	for _, isApart := range []bool{false, true} {
		for _, rate := range []int{0, pacedRate} {
			where := "service and client in one process"
			if isApart {
				where = "the client in another process"
			}
			l := &judgedLoad{measured: *newMeasured(working.title+", "+where, rate, services),
				apart: isApart}
			if !isApart {
				l.shares = make([][]tally, len(services))
			}
			loads = append(loads, l)
		}
	}
	return loads
}

// pacedRate is the rate of a service that is not busy, in requests a second.
const pacedRate = 1000

// pacedProfile is how many times longer profiles are at that rate. A request takes about a tenth
// of a processor there, and the profiles have as many samples a second.
const pacedProfile = 10

// A turn is one variant under one load, in one round.
type turn struct{ round, load, variant int }

// turns returns rounds in which each of the variants has one turn under each load. The order of the
// variants is another in each round, by chance.
func turns(random *rand.Rand, rounds, loads int, variants []int) (all []turn) {
	for round := range rounds {
		for load := range loads {
			for _, k := range random.Perm(len(variants)) {
				all = append(all, turn{round, load, variants[k]})
			}
		}
	}
	return all
}

// indexes returns 0 to n-1.
func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// runJudge compares what telemetry adds to a request whose handler works: the README's program
// against otelhttp and the SDK. All is real: HTTP over loopback, OTLP over gRPC to another process.
func runJudge(ctx context.Context, o options) (err error) {
	if o.seed == 0 {
		o.seed = rand.Uint64() //nolint:gosec // not a secret
	}
	conditions := o.judgeConditions() // with the load of the machine before its own
	f, err := startFleet(ctx, o, working, judged)
	defer func() { err = errors.Join(err, f.stop(ctx)) }()
	if err != nil {
		return err
	}
	loads, err := judge(ctx, o, f.services)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.out, conditions)
	for _, l := range loads {
		fmt.Fprintf(o.out, "\n%s", l.table())
	}
	return addFigures(o, judgeBudgets(loads))
}

// judge measures the services, and takes their profiles in rounds of their own.
func judge(ctx context.Context, o options, services []*served) ([]*judgedLoad, error) {
	random := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // an order, not a secret
	loads := newLoads(services)
	inTurn := func(what string, variants []int, loads []*judgedLoad,
		do func(*judgedLoad, turn) error) error {
		for _, t := range turns(random, o.rounds, len(loads), variants) {
			fmt.Fprintf(os.Stderr, "\r%s: round %d of %d, %s, %s\x1b[K", what, t.round+1, o.rounds,
				loads[t.load].name(), services[t.variant].name)
			if err := do(loads[t.load], t); err != nil {
				return fmt.Errorf("%s, %s: %w", loads[t.load].name(), services[t.variant].name, err)
			}
		}
		fmt.Fprintln(os.Stderr)
		return nil
	}
	err := inTurn("CPU", indexes(len(services)), loads, func(l *judgedLoad, t turn) error {
		return l.turn(ctx, t.variant, services[t.variant], o.length)
	})
	if err != nil {
		return nil, err
	}
	// The reference, and the README's program.
	err = inTurn("profiles", []int{1, len(judged) - 1}, loads[:2],
		func(l *judgedLoad, t turn) error {
			return l.profile(ctx, t.variant, services[t.variant], o.length)
		})
	return loads, err
}

// turn measures a service under the load.
func (l *judgedLoad) turn(ctx context.Context, variant int, v *served, length time.Duration) error {
	if l.apart {
		return l.measured.turn(ctx, variant, v, length)
	}
	got, reached, err := window(ctx, v, length,
		func(length time.Duration) (int, time.Duration, error) {
			did, err := v.loadItself(ctx, l.rate, length, false)
			return did.Requests, did.Lasted, err
		})
	if err != nil {
		return err
	}
	l.add(variant, got, reached)
	return nil
}

// profile takes a CPU profile of a service under the load, and tallies its samples.
func (l *judgedLoad) profile(ctx context.Context, variant int, v *served,
	length time.Duration) error {
	if l.rate > 0 {
		length *= pacedProfile
	}
	did, err := v.loadItself(ctx, l.rate, length, true)
	if err != nil {
		return err
	}
	if _, _, err := v.arrived(ctx); err != nil {
		return err
	}
	t, err := tallied(did.Profile)
	if err != nil {
		return err
	}
	l.shares[variant] = append(l.shares[variant], t)
	return nil
}
