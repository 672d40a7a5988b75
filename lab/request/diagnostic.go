package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
)

// runDiagnostic compares what telemetry adds to prepared requests, whose handlers do nothing. All
// is in this process and in warm caches, and so it costs less than in a service. It shows small
// changes.
func runDiagnostic(ctx context.Context, o options) error {
	results, err := diagnose(ctx, o, variants, o.shapes)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.out, o.conditions())
	for _, r := range results {
		fmt.Fprintf(o.out, "\n%s", r.table())
	}
	return addFigures(o, diagnosticBudgets(o, results))
}

// diagnosticBudgets are the figures of all shapes of o and all variants.
func diagnosticBudgets(o options, results []result) (all []budget) {
	for k, r := range results {
		for i := 1; i < len(variants); i++ {
			what := o.shapes[k].name + ", " + variants[i].name
			if i > 1 {
				all = append(all, ratioBudget(what+cpuRatio, r.against(i)))
			}
			all = append(all, budget{what + allocationsAdded, median(r.added(i, allocations)), ""},
				budget{what + bytesAdded, median(r.added(i, allocated)), ""})
		}
	}
	return all
}

// diagnose measures each shape in rounds.
func diagnose(ctx context.Context, o options, vs []variant, ss []shape) ([]result, error) {
	var results []result
	for _, s := range ss {
		var rows []row
		for _, v := range vs {
			rows = append(rows, row{v.name, s, v})
		}
		r, err := rounds(ctx, o, s.name, s.title, rows)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// A row is a variant that a kind of requests is measured with.
type row struct {
	name    string
	shape   shape
	variant variant
}

// rounds measures rows: in each round, every row has its turn, and each round begins with another.
func rounds(ctx context.Context, o options, progress, title string, rows []row) (r result,
	err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(o.procs))
	r = result{title: title, samples: make([][]sample, len(rows))}
	for _, w := range rows {
		r.names = append(r.names, w.name)
	}
	for round := range o.rounds {
		for k := range rows {
			i := (k + round) % len(rows)
			got, err := take(ctx, rows[i].variant, rows[i].shape, o.length,
				cmp.Or(rows[i].shape.burst, o.burst))
			if err := cmp.Or(err, ctx.Err()); err != nil {
				return r, err
			}
			r.samples[i] = append(r.samples[i], got)
		}
		fmt.Fprintf(os.Stderr, "\r%s, %d processors: round %d of %d ", progress, o.procs, round+1,
			o.rounds)
	}
	fmt.Fprintln(os.Stderr)
	return r, nil
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
		"resource: the attributes that perfline.Start detects; compression: %s; batches of 512 spans, a queue of %d.",
		platform(), o.procs, runtime.NumCPU(), o.rounds, o.length, metrics, compression, o.queue)
}
