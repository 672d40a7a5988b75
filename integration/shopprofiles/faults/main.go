// Command faults runs the shop with its profiles pushed to servers that fail, each in its
// way, and to a Pyroscope that works, and prints what became of the profiles and of the
// service's latency as a table:
//
//	go run -C integration ./shopprofiles/faults
//
// It takes some minutes; the latencies are worth as much as the machine is idle. That each profile is counted once, that no request fails and that
// the shop ends with an error just if profiles were lost is checked. A profile that is
// refused for what it is, as with 413, is logged once for each of the five kinds; whatever
// is wrong with the server, once in all.
//
// Not here are clocks that jump, which cannot be had of a machine, and queues that are full,
// which takes longer: the tests of profiling/pyroscope have both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/shopprofiles"
)

func main() {
	o := options{}
	flag.DurationVar(&o.length, "for", 15*time.Second, "how long each load is, at least 10s; the last two are 75s")
	flag.IntVar(&o.rps, "rps", 200, "requests a second of the load")
	flag.StringVar(&o.only, "only", "", "run only the cases whose names match this regular expression")
	flag.BoolVar(&o.verbose, "v", false, "show what the shop prints")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

type options struct {
	shop    string // its program
	length  time.Duration
	rps     int
	only    string // expression for the names of cases
	verbose bool
}

// run runs the cases one after the other. Pyroscope runs all the time, so that what it
// takes of the machine when idle is the same for all.
func run(ctx context.Context, o options) (err error) {
	if o.length < 10*time.Second {
		return fmt.Errorf("-for %v: must be at least 10s", o.length)
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	p, err := backend.StartPyroscope(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	dir, err := os.MkdirTemp("", "faults")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.shop, err = shopprofiles.BuildShop(ctx, dir); err != nil {
		return err
	}
	fmt.Print("| case | sent | sent again | refused | unanswered | overflow | given up at the end | p50 | p99 | peak RSS | log lines |\n" +
		"|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, c := range cases(p) {
		if !only.MatchString(c.name) {
			continue
		}
		r, err := c.run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("| %s | %d | %d | %d | %d | %d | %d | %s | %s | %d MiB | %d |\n", c.name,
			r.sent, r.again, r.refused, r.unanswered, r.overflow, r.pending, r.p50, r.p99, r.peak>>20, r.lines)
	}
	return nil
}
