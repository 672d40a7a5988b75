package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

// An episode is a failure of one component, from its begin for its length.
type episode struct {
	component string
	kind      backend.Kind
	begin     time.Duration // since the schedule's begin
	length    time.Duration
}

func (e episode) end() time.Duration { return e.begin + e.length }

func (e episode) String() string {
	return fmt.Sprintf("%8v … %-8v %s %s", e.begin, e.end(), e.component, e.kind)
}

// fixed is a schedule in which a component fails so many times, for half of the time; or once,
// for all of it.
func fixed(component string, kind backend.Kind, times int, length time.Duration) []episode {
	if times == 1 {
		return []episode{{component, kind, 0, length}}
	}
	var all []episode
	each := length / time.Duration(times)
	for i := range times {
		all = append(all, episode{component, kind, time.Duration(i) * each, each / 2})
	}
	return all
}

var (
	randomComponents = []string{jaegerName, collectorName, pyroscopeName}
	randomKinds      = []backend.Kind{backend.Refuse, backend.Hang, backend.Slow, backend.Garbage,
		killed}
)

// random makes up a schedule of that length, by begin. The same seed and length give the same
// one. A component has one episode at a time, the three know nothing of each other, and the last
// tenth of the time is without.
func random(seed uint64, length time.Duration) []episode {
	numbers := rand.New(rand.NewPCG(seed, uint64(length)))
	// between is a time from least to most percent of the whole, of whole milliseconds:
	// what is printed is all of it.
	between := func(least, most float64) time.Duration {
		share := (least + numbers.Float64()*(most-least)) / 100
		return time.Duration(share * float64(length)).Truncate(time.Millisecond)
	}
	var all []episode
	for _, c := range randomComponents {
		for at := between(4, 12); ; {
			e := episode{component: c, kind: randomKinds[numbers.IntN(len(randomKinds))], begin: at,
				length: between(5, 10)}
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

// play plays a schedule, each component's episodes one after the other, and returns when all of
// them are over. When ctx is over the episodes under way end, and the rest is left out.
func (b *bench) play(ctx context.Context, began time.Time, episodes []episode) (note string,
	err error) {
	type outcome struct {
		notes []string
		err   error
	}
	outcomes := make(chan outcome, len(b.components))
	for _, c := range b.components {
		go func() {
			var o outcome
			for _, e := range episodes {
				if e.component != c.name || o.err != nil || !waitUntil(ctx, began.Add(e.begin)) {
					continue
				}
				if o.err = c.fail(ctx, e.kind); o.err != nil {
					continue
				}
				waitUntil(ctx, began.Add(e.end()))
				var note string
				if note, o.err = c.heal(context.WithoutCancel(ctx), e.kind); note != "" {
					o.notes = append(o.notes, note)
				}
			}
			outcomes <- o
		}()
	}
	var notes []string
	for range b.components {
		o := <-outcomes
		notes = append(notes, o.notes...)
		err = cmp.Or(err, o.err)
	}
	return strings.Join(notes, "; "), err
}

// waitUntil waits until a time, and reports false if ctx is over before.
func waitUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
