package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/internal/document"
	"github.com/perfline/perfline/lab/internal/figures"
)

// Limits of snapshots, for ten megabytes.
const (
	costBytes     = 10 << 20
	mostWriting   = 50 * time.Millisecond
	mostProcessor = time.Second
)

const (
	costWindow = 30 * time.Second // of the flight recorder: windowBytes are fewer
	costRate   = 1000             // requests a second
	costFill   = 27 * time.Second // until the window is full
	costRounds = 10

	shortFill   = 200 * time.Millisecond
	shortRate   = 200
	shortRounds = 1
)

// A snapshotCost is what one snapshot took.
type snapshotCost struct {
	bytes              uint64
	writing, analysing time.Duration
	// of the whole process, in the round with the snapshot, beyond what one without takes
	processor time.Duration
	lasted    time.Duration // from the slow request until its result

	busyP99, quietP99 time.Duration // of the background load
}

// measureCosts takes snapshots of a service under load, and compares the other requests' latencies
// in rounds with and without a snapshot.
func measureCosts(ctx context.Context, o options, r *reporter) (parts []document.Part, err error) {
	around, err := newSurroundings(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, around.close()) }()
	c, err := startChild(ctx, around, kindOfChild{window: costWindow})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	fill, rate, rounds := costFill, float64(costRate), costRounds
	if o.short {
		fill, rate, rounds = shortFill, shortRate, shortRounds
	}
	background := load.Requests(ctx, "http://"+c.requests+"/products/1009", rate)
	var costs []snapshotCost
	var quiet, busy []time.Duration
	err = elapse(ctx, fill)
	for i := 0; err == nil && i < rounds; i++ {
		r.say("snapshot %d of %d", i+1, rounds)
		var cost snapshotCost
		if cost, err = c.snapshot(ctx, background, &quiet, &busy); err == nil {
			costs = append(costs, cost)
		}
	}
	if err = errors.Join(err, background.Stop().Err(), background.Total().Err()); err != nil {
		return nil, err
	}
	text, err := costText(costs, quiet, busy, o.figures)
	if o.short {
		err = nil
	}
	return []document.Part{{Name: costPart, Text: text}}, err
}

// snapshot makes a slow request that only waits, and then lets as much time pass without one. It
// appends the latencies of the background load in both rounds.
func (c *child) snapshot(ctx context.Context, background *load.Load, quiet,
	busy *[]time.Duration) (cost snapshotCost, err error) {
	var at [3]usage // before, between, after
	if err := c.ask(ctx, "/usage", &at[0]); err != nil {
		return cost, err
	}
	background.Take()
	began := time.Now()
	timer := causes[slices.IndexFunc(causes, func(c cause) bool { return c.name == "timer" })]
	o, err := c.slow(ctx, 0, []part{{timer, sleeping, little}})
	if err != nil {
		return cost, err
	}
	if o.Trouble != "" {
		return cost, errors.New(o.Trouble)
	}
	cost.lasted = time.Since(began)
	meanwhile := background.Take()
	*busy, cost.busyP99 = append(*busy, meanwhile.Latencies...), meanwhile.P(0.99)
	if err := c.ask(ctx, "/usage", &at[1]); err != nil {
		return cost, err
	}
	if err := elapse(ctx, cost.lasted); err != nil {
		return cost, err
	}
	later := background.Take()
	*quiet, cost.quietP99 = append(*quiet, later.Latencies...), later.P(0.99)
	if err := c.ask(ctx, "/usage", &at[2]); err != nil {
		return cost, err
	}
	before, after := at[0].Stats, at[1].Stats
	if after.Snapshots != before.Snapshots+1 {
		return cost, fmt.Errorf("%d snapshots of one request", after.Snapshots-before.Snapshots)
	}
	cost.bytes = after.SnapshotBytes - before.SnapshotBytes
	cost.writing, cost.analysing = after.Writing-before.Writing, after.Analysing-before.Analysing
	cost.processor = at[1].CPU - at[0].CPU - (at[2].CPU - at[1].CPU)
	return cost, nil
}

// elapse lets time pass in a measurement.
func elapse(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// costText is the table of costs, whose limits are also added to the file of figures. The error
// says which limit is exceeded.
func costText(costs []snapshotCost, quiet, busy []time.Duration, figuresInto string) (string,
	error) {
	megabytes := func(of func(snapshotCost) float64) (median, most float64) {
		var values []float64
		for _, c := range costs {
			values = append(values, of(c))
		}
		slices.Sort(values)
		return load.Quantile(values, 0.5), load.Quantile(values, 1)
	}
	bytes, _ := megabytes(func(c snapshotCost) float64 { return float64(c.bytes) })
	scaled := func(of func(snapshotCost) time.Duration) (median, most time.Duration) {
		a, b := megabytes(func(c snapshotCost) float64 {
			return float64(
				of(c)) * costBytes / float64(c.bytes)
		})
		return time.Duration(a), time.Duration(b)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, with %d requests a second. %d snapshots of %.1f MB each, converted to 10 MB. The analysis has no bound for its share of a processor here.\n\n",
		document.Machine(), costRate, len(costs), bytes/(1<<20))
	b.WriteString("| for 10 MB | median | most | limit |\n|---|---:|---:|---:|\n")
	var errs []error
	for _, row := range []struct {
		name  string
		of    func(snapshotCost) time.Duration
		limit time.Duration
	}{
		{"writing the snapshot", func(c snapshotCost) time.Duration { return c.writing },
			mostWriting},
		{"reading and analysing, without pauses",
			func(c snapshotCost) time.Duration { return c.analysing }, 0},
		{"CPU of the process for both", func(c snapshotCost) time.Duration { return c.processor },
			mostProcessor},
	} {
		median, most := scaled(row.of)
		limit := none
		if row.limit > 0 {
			limit = milliseconds(row.limit)
			met := median <= row.limit
			errs = append(errs, figures.Add(figuresInto, row.name+", for 10 MB", "≤ "+limit,
				milliseconds(median), &met))
			if median > row.limit {
				errs = append(errs, fmt.Errorf("%s takes %v for 10 MB, must be at most %v",
					row.name, median, row.limit))
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.name, milliseconds(median),
			milliseconds(most), limit)
	}
	lasted, _ := megabytes(func(c snapshotCost) float64 { return float64(c.lasted) })
	fmt.Fprintf(&b, "\nA result comes %s after its request began. Meanwhile, other requests take:\n\n", milliseconds(time.Duration(lasted)))
	b.WriteString("| other requests | p50 | p99 | p99.9 | most |\n|---|---:|---:|---:|---:|\n")
	for _, row := range []struct {
		name      string
		latencies []time.Duration
	}{{"while a snapshot is written and read", busy}, {"in the same times without one", quiet}} {
		slices.Sort(row.latencies)
		fmt.Fprintf(&b, "| %s (%d) |", row.name, len(row.latencies))
		for _, q := range []float64{0.5, 0.99, 0.999, 1} {
			fmt.Fprintf(&b, " %s |", milliseconds(load.Quantile(row.latencies, q)))
		}
		b.WriteString("\n")
	}
	slower := 0
	for _, c := range costs {
		if c.busyP99 > c.quietP99 {
			slower++
		}
	}
	fmt.Fprintf(&b, "\nThe p99 was higher with the snapshot in %d of %d pairs of such times.\n",
		slower, len(costs))
	return b.String(), errors.Join(errs...)
}
