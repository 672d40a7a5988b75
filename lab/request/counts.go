package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"

	"github.com/perfline/perfline/lab/internal/figures"
)

// The figures that are counted, after the name of a variant or a program.
const (
	allocationsAdded  = ": allocations added"
	allocationsOfSpan = ": allocations added to a span"
	megabytesAdded    = ": MB added to a program"
	modulesLinked     = ": modules"
)

// A count is a figure that is the same in every run.
type count struct {
	what  string
	got   float64
	peers bool // of others' code alone: it has no limit
}

// figure adds the count to a file of figures. Its goal is the promise, or else the limit.
func (c count) figure(path string) error {
	goal, ok := limits[c.what]
	if p, promised := promises[c.what]; promised {
		goal, ok = p.must, true
	}
	if !ok {
		return figures.Add(path, c.what, "", fmt.Sprint(c.got), nil)
	}
	met := c.got <= goal
	return figures.Add(path, c.what, atMost(goal), fmt.Sprint(c.got), &met)
}

// counts prints all counts beside their limits, and fails when one exceeds its limit. A short run
// has one shape, and builds none of the programs that have limits.
func counts(ctx context.Context, o options) error {
	chosen, built := shapes, programs
	if o.short {
		chosen, built = o.shapes, []program{hello}
	}
	all, err := countAllocations(ctx, chosen)
	if err != nil {
		return err
	}
	spans, err := countAllocationsOfSpans(ctx)
	if err != nil {
		return err
	}
	more, err := countAllocationsOfSignals(ctx)
	if err != nil {
		return err
	}
	all = append(append(all, spans...), more...)
	linked, err := sizes(ctx, built)
	if err != nil {
		return err
	}
	for _, s := range linked {
		all = append(all, count{s.what + megabytesAdded, s.added, s.peers},
			count{s.what + modulesLinked, float64(s.modules), s.peers})
	}
	fmt.Fprint(o.out, "| count | | limit |\n|---|---:|---:|\n")
	for _, c := range all {
		limit := "–"
		if most, ok := limits[c.what]; ok {
			limit = atMost(most)
		}
		fmt.Fprintf(o.out, "| %s | %v | %s |\n", c.what, c.got, limit)
		if err := c.figure(o.figures); err != nil {
			return err
		}
	}
	limits := maps.Clone(limits)
	if o.short {
		maps.DeleteFunc(limits, func(what string, _ float64) bool {
			return !slices.ContainsFunc(all, func(c count) bool { return c.what == what })
		})
	}
	return exceeded(all, limits)
}

// exceeded returns an error that names every count above its limit, every count without a
// limit, and every limit without a count.
func exceeded(all []count, limits map[string]float64) error {
	left := maps.Clone(limits)
	var errs []error
	for _, c := range all {
		most, ok := limits[c.what]
		delete(left, c.what)
		if c.peers {
			continue
		}
		if !ok {
			errs = append(errs, fmt.Errorf("%s: is %v and has no limit", c.what, c.got))
		} else if c.got > most {
			errs = append(errs, fmt.Errorf("%s: is %v, must be at most %v", c.what, c.got, most))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(left)) {
		errs = append(errs, fmt.Errorf("%s: has a limit and was not counted", what))
	}
	return errors.Join(errs...)
}

// countAllocations counts the allocations that each variant adds to a request, whole ones.
func countAllocations(ctx context.Context, shapes []shape) ([]count, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var all []count
	for _, s := range shapes {
		added, err := addedAllocations(ctx, variants, s)
		if err != nil {
			return nil, err
		}
		for i, v := range variants[1:] {
			all = append(all, count{s.name + ", " + v.name + allocationsAdded, math.Round(added[i]),
				i == 0})
		}
	}
	return all, nil
}

// countAllocationsOfSpans counts the allocations that each exporter adds to a span of the first
// shape, in hundredths.
func countAllocationsOfSpans(ctx context.Context) ([]count, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := shapes[0]
	added, err := addedAllocations(ctx, exporters, s)
	if err != nil {
		return nil, err
	}
	var all []count
	for i, v := range exporters[1:] {
		all = append(all, count{s.name + ", " + v.name + allocationsOfSpan,
			math.Round(added[i]/float64(s.spans)*100) / 100, i == 0})
	}
	return all, nil
}

// addedAllocations returns the allocations that each variant adds to a request with the first one.
func addedAllocations(ctx context.Context, vs []variant, s shape) ([]float64, error) {
	var all []float64
	for _, v := range vs {
		fmt.Fprintf(os.Stderr, "\rcounting %s, %s\x1b[K", s.name, v.name)
		got, err := fewest(ctx, v, s)
		if err != nil {
			return nil, err
		}
		all = append(all, got)
	}
	fmt.Fprintln(os.Stderr)
	for i := range all[1:] {
		all[i+1] -= all[0]
	}
	return all[1:], nil
}

// counted is how many requests count: a few batches of spans.
const counted = 512

// fewest returns the allocations of a request: the fewest of several turns, because what the
// runtime does now and then adds to some.
func fewest(ctx context.Context, v variant, s shape) (float64, error) {
	least := math.Inf(1)
	for range 3 {
		got, err := take(ctx, v, s, 0, counted)
		if err != nil {
			return 0, err
		}
		least = min(least, got.allocations)
	}
	return least, nil
}
