// Command request measures what telemetry adds to a request, of perfline beside OpenTelemetry,
// and prints tables in Markdown:
//
//	go run -C benchmarks ./request          # the gate: one process, CPU time to encoded OTLP
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"

	"go.opentelemetry.io/otel"
)

// inUse is memory without pointers, as every service has some in use: with the little that
// these keep, garbage would be collected after every few hundred requests.
var inUse = make([]byte, 16<<20)

type options struct {
	rounds  int
	length  time.Duration
	only    *regexp.Regexp
	metrics bool
	gzip    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "request:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	defer runtime.KeepAlive(inUse)
	var o options
	f := flag.NewFlagSet("request", flag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 20, "measure each variant in that many rounds, at least 1")
	f.DurationVar(&o.length, "length", 200*time.Millisecond, "measure a variant about that long in each round")
	only := f.String("only", "", "only shapes whose name matches this regular expression")
	f.BoolVar(&o.metrics, "metrics", false, "record metrics, on both sides")
	f.BoolVar(&o.gzip, "gzip", false, "compress what is sent, on both sides")
	if err := f.Parse(args); err != nil {
		return err
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	var ss []shape
	for _, s := range shapes {
		if o.only.MatchString(s.name) {
			ss = append(ss, s)
		}
	}
	if err := environment(o.gzip); err != nil {
		return err
	}
	otel.SetMeterProvider(meters(o.metrics))
	for _, procs := range []int{2, 8} {
		if procs == 8 && runtime.NumCPU() < 8 {
			continue
		}
		runtime.GOMAXPROCS(procs)
		results, err := gate(ctx, o, variants, ss)
		if err != nil {
			return err
		}
		fmt.Println(o.conditions(o.rounds, o.length))
		for _, r := range results {
			fmt.Printf("\n%s", r.table())
		}
	}
	return nil
}
