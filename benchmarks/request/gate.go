package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// burst is how many requests each processor makes between two flushes: a few batches of
// spans.
const burst = 256

// A result is all samples of a shape, by variant and round.
type result struct {
	shape    shape
	variants []variant
	samples  [][]sample
}

// gate measures each shape in rounds: in each, every variant has its turn, and each round
// begins with another.
func gate(ctx context.Context, o options, vs []variant, ss []shape) ([]result, error) {
	var results []result
	for _, s := range ss {
		r := result{s, vs, make([][]sample, len(vs))}
		for round := range o.rounds {
			for k := range vs {
				i := (k + round) % len(vs)
				got, err := take(ctx, vs[i], s, o.length, burst)
				if err != nil {
					return nil, err
				}
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				r.samples[i] = append(r.samples[i], got)
			}
			fmt.Fprintf(os.Stderr, "\r%s, %d processors: round %d of %d ", s.name, runtime.GOMAXPROCS(0), round+1, o.rounds)
		}
		fmt.Fprintln(os.Stderr)
		results = append(results, r)
	}
	return results, nil
}

// values returns one figure of a variant, round by round.
func (r *result) values(variant int, of func(sample) float64) []float64 {
	values := make([]float64, len(r.samples[variant]))
	for i, s := range r.samples[variant] {
		values[i] = of(s)
	}
	return values
}

// added returns what a variant adds to the first one, round by round.
func (r *result) added(variant int, of func(sample) float64) []float64 {
	return differences(r.values(variant, of), r.values(0, of))
}

// against compares the CPU time that a variant adds with the reference's, which is the second.
func (r *result) against(variant int) ratio {
	return ratioOf(r.added(variant, cpuTime), r.added(1, cpuTime))
}

func cpuTime(s sample) float64     { return s.cpu }
func allocations(s sample) float64 { return s.allocations }
func allocated(s sample) float64   { return s.bytes }
func collections(s sample) float64 { return s.collections }

// table has a row for each variant: what it adds to the first one.
func (r *result) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| **%s** | CPU | added | × reference | 95 %% | allocations added | bytes added | collections in 1000 |\n", r.shape.title)
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for i, v := range r.variants {
		fmt.Fprintf(&b, "| %s | %.2f µs |", v.name, median(r.values(i, cpuTime))/1e3)
		if i == 0 {
			fmt.Fprintf(&b, " – | – | – | (%.1f) | (%.0f) | %.2f |\n", median(r.values(i, allocations)), median(r.values(i, allocated)), 1e3*mean(r.values(i, collections)))
			continue
		}
		fmt.Fprintf(&b, " %.2f µs |", median(r.added(i, cpuTime))/1e3)
		if i == 1 {
			b.WriteString(" 1 | – |")
		} else {
			a := r.against(i)
			fmt.Fprintf(&b, " %.2f | %.2f … %.2f |", a.median, a.low, a.high)
		}
		fmt.Fprintf(&b, " %.1f | %.0f | %.2f |\n", median(r.added(i, allocations)), median(r.added(i, allocated)), 1e3*mean(r.values(i, collections)))
	}
	return b.String()
}

// conditions says what a table was measured with.
func (o options) conditions(rounds int, length time.Duration) string {
	metrics, compression := "none", "none"
	if o.metrics {
		metrics = "durations and sizes of bodies, aggregated and not sent"
	}
	if o.gzip {
		compression = "gzip"
	}
	return fmt.Sprintf("%s, %s/%s, %d of %d processors, %d rounds of %v. On both sides: metrics: %s; propagators: tracecontext, baggage; "+
		"resource: the attributes that perfline.Start detects; compression: %s; batches of 512 spans, a queue of %s.",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.NumCPU(), rounds, length, metrics, compression, queueSize)
}
