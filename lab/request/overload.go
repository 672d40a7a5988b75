package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

// usualQueue is how many spans wait for the receiver at most, by the specification of
// OTEL_BSP_MAX_QUEUE_SIZE.
const usualQueue = 2048

// runOverload makes as many requests as the services can take, whose queues have the usual size. It
// prints how many they served, how long a request took its client, and which part of the spans did
// not arrive.
func runOverload(ctx context.Context, o options) (err error) {
	o.queue, o.peers = usualQueue, false
	f, err := startFleet(ctx, o, working, judged)
	defer func() { err = errors.Join(err, f.stop(ctx)) }()
	if err != nil {
		return err
	}
	for _, v := range f.services {
		v.lossy = true
	}
	latencies, rates := make([][]time.Duration, len(f.services)), make([][]float64, len(f.services))
	for round := range o.rounds {
		for _, i := range rand.Perm(len(f.services)) { //nolint:gosec // an order, not a secret
			v := f.services[i]
			fmt.Fprintf(os.Stderr, "\roverload: round %d of %d, %s\x1b[K", round+1, o.rounds,
				v.name)
			took, lasted, err := v.load(ctx, 0, o.length)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			if _, err := v.process.Used(ctx); err != nil { // sends what waits
				return fmt.Errorf("%s: %w", v.name, err)
			}
			latencies[i], rates[i] = append(latencies[i], took...),
				append(rates[i], float64(len(took))/lasted.Seconds())
		}
	}
	fmt.Fprintln(os.Stderr)
	now, err := f.receivers.all(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%s\n\n| flat out, queues of %d spans | requests a second | p50 | p99 | spans | lost |\n|---|---:|---:|---:|---:|---:|\n", o.conditions(), o.queue)
	for i, v := range f.services {
		slices.Sort(latencies[i])
		spans := v.each * v.requests
		lost := "–"
		if spans > 0 {
			lost = fmt.Sprintf("%.2f %%", 100*float64(spans-now[i].Arrived)/float64(spans))
		}
		fmt.Fprintf(o.out, "| %s | %.0f | %v | %v | %d | %s |\n", v.name, median(rates[i]),
			quantile(latencies[i], 0.5).Round(time.Microsecond),
			quantile(latencies[i], 0.99).Round(time.Microsecond), spans, lost)
	}
	return nil
}
