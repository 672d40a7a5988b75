package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
)

// burst is how many requests each processor makes between two flushes: a few batches of
// spans.
const burst = 256

// gate measures each shape in rounds: in each, every variant has its turn, and each round
// begins with another.
func gate(ctx context.Context, o options, vs []variant, ss []shape) ([]result, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(o.procs))
	var results []result
	for _, s := range ss {
		r := result{title: s.title, samples: make([][]sample, len(vs))}
		for _, v := range vs {
			r.names = append(r.names, v.name)
		}
		for round := range o.rounds {
			for k := range vs {
				i := (k + round) % len(vs)
				got, err := take(ctx, vs[i], s, o.length, cmp.Or(s.burst, burst))
				if err != nil {
					return nil, err
				}
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				r.samples[i] = append(r.samples[i], got)
			}
			fmt.Fprintf(os.Stderr, "\r%s, %d processors: round %d of %d ", s.name, o.procs, round+1, o.rounds)
		}
		fmt.Fprintln(os.Stderr)
		results = append(results, r)
	}
	return results, nil
}

// platform names what a table was measured on.
func platform() string {
	return fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// conditions says what a table was measured with.
func (o options) conditions() string {
	metrics, compression := "none", "none"
	if o.metrics {
		metrics = "durations and sizes of bodies, aggregated and not sent"
	}
	if o.gzip {
		compression = "gzip"
	}
	return fmt.Sprintf("%s, %d of %d processors, %d rounds of %v. On both sides: metrics: %s; propagators: tracecontext, baggage; "+
		"resource: the attributes that perfline.Start detects; compression: %s; batches of 512 spans, a queue of %s.",
		platform(), o.procs, runtime.NumCPU(), o.rounds, o.length, metrics, compression, queueSize)
}
