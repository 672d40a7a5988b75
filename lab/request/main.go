// Command request is the judge of what telemetry adds to a request: perfline beside
// OpenTelemetry, in the same run. It prints tables in Markdown:
//
//	go run -C lab ./request           # the gate: one process, CPU time up to encoded OTLP
//	go run -C lab ./request report    # services and receivers in processes of their own, over loopback
//	go run -C lab ./request waits     # the same of the flight recorder, armed or not: fails when armed costs too much
//	go run -C lab ./request budgets   # all standing budgets, against what was promised
//	go run -C lab ./request exporter  # the exporters alone, without the spans that they get
//	go run -C lab ./request kept      # requests that the sampler drops and a policy keeps, or not
//	go run -C lab ./request signals   # what each signal beside spans adds: exemplars, histograms of measures
//	go run -C lab ./request spans     # spans alone, without requests
//	go run -C lab ./request heap      # what spans take while they wait
//	go run -C lab ./request sizes     # what telemetry adds to a program: megabytes and modules
//	go run -C lab ./request counts    # fails when allocations, modules or sizes exceed their limits
//
// The gate gives prepared requests to a handler. Variants take turns in rounds, each time in a
// new set-up. A turn counts the CPU time of the whole process, with background work and garbage
// collection. A variant adds the median of its differences from no telemetry, round by round.
// The bounds of a ratio come from a bootstrap over the rounds. Every span has to arrive: the
// command fails when a variant loses or invents one.
//
// The report sends whole requests to services, flat out and at given rates, and counts the CPU
// time of their processes. The load and the receivers run in the command's own process. Flags
// go before the command's word. With -into, the tables are also written into a document, between
// the markers of the command's word:
//
//	go run -C lab ./request -into ../docs/lab/benchmarks.md gate    # <!-- gate --> … <!-- /gate -->
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/perfline/perfline/internal/document"
)

type options struct {
	rounds  int
	length  time.Duration
	idle    time.Duration
	metrics bool
	gzip    bool
	peers   bool
	shapes  []shape
	procs   int
	into    string    // a document; empty: none
	out     io.Writer // for the tables

	variant  int // of serve
	endpoint string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "request:", err)
		os.Exit(1)
	}
}

// A command is a word after the flags, and how it measures unless flags say so.
type command struct {
	word   string
	rounds int
	length time.Duration
	only   string
	run    func(context.Context, options) error
}

var commands = []command{
	{"gate", 20, 200 * time.Millisecond, "", everyProcs(inProcess(runGate))},
	{"report", 5, 2 * time.Second, "^http$", everyProcs(runReport)},
	{"waits", 8, 2 * time.Second, "^(http|outgoing|sql)$", runWaits},
	{"budgets", 20, 200 * time.Millisecond, "", inProcess(runBudgets)},
	{"exporter", 20, 200 * time.Millisecond, "", everyProcs(inProcess(runExporter))},
	{"kept", 20, 200 * time.Millisecond, "", everyProcs(inProcess(runKept))},
	{"signals", 20, 200 * time.Millisecond, "", everyProcs(inProcess(runSignals))},
	{"spans", 20, 200 * time.Millisecond, "", everyProcs(inProcess(runSpans))},
	{"heap", 0, 0, "", runHeap},
	{"sizes", 0, 0, "", runSizes},
	{"counts", 0, 0, "", inProcess(func(ctx context.Context, o options) error { return counts(ctx, o.out) })},
	{"serve", 0, 0, "", func(ctx context.Context, o options) error { return serve(ctx, o.shapes[0], o.variant, o.endpoint) }},
}

func run(ctx context.Context, args []string) error {
	c, o, err := parse(args)
	if err != nil {
		return err
	}
	if err := environment(o.gzip); err != nil {
		return err
	}
	otel.SetMeterProvider(meters(o.metrics))
	if o.into == "" {
		o.out = os.Stdout
		return c.run(ctx, o)
	}
	if err := document.Check(o.into, c.word); err != nil {
		return err
	}
	var text strings.Builder
	o.out = io.MultiWriter(os.Stdout, &text)
	err = c.run(ctx, o)
	if err != nil && !errors.Is(err, errLimit) {
		return err
	}
	return errors.Join(err, document.Write(o.into, document.Part{Name: c.word, Text: text.String()}))
}

func parse(args []string) (c command, o options, err error) {
	f := flag.NewFlagSet("request", flag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 0, "measure each variant in that many `rounds`; 0: 20, of the report 5, of waits 8")
	f.DurationVar(&o.length, "length", 0, "measure a variant about that long in each round; 0: 200ms, of the report and of waits 2s")
	f.DurationVar(&o.idle, "idle", time.Minute, "how long the services have nothing to do, of report and budgets")
	only := f.String("only", "", "only shapes whose name matches this regular expression; empty: all, of the report http, of waits http, outgoing and sql")
	f.BoolVar(&o.metrics, "metrics", false, "record metrics, on both sides")
	f.BoolVar(&o.gzip, "gzip", false, "compress what is sent, on both sides")
	f.BoolVar(&o.peers, "peers", true, "build dd-trace-go and sentry-go and have them in the report")
	f.StringVar(&o.into, "into", "", "also write the tables into this `document`, between the markers of the command's word")
	f.IntVar(&o.variant, "variant", 0, "of serve, which the report starts: the variant")
	f.StringVar(&o.endpoint, "endpoint", "", "of serve: the receiver")
	if err := f.Parse(args); err != nil {
		return c, o, err
	}
	word := "gate"
	if f.NArg() > 0 {
		word = f.Arg(0)
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.word == word })
	if i < 0 || f.NArg() > 1 {
		return c, o, fmt.Errorf("command %q: must be gate, report, waits, budgets, exporter, kept, signals, spans, heap, sizes or counts, after the flags", f.Args())
	}
	c = commands[i]
	if o.rounds == 0 {
		o.rounds = c.rounds
	}
	if o.length == 0 {
		o.length = c.length
	}
	if *only == "" {
		*only = c.only
	}
	if o.rounds < 0 {
		return c, o, fmt.Errorf("-rounds %d: must be at least 1", o.rounds)
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return c, o, fmt.Errorf("-only: %w", err)
	}
	for _, s := range shapes {
		if pattern.MatchString(s.name) {
			o.shapes = append(o.shapes, s)
		}
	}
	if len(o.shapes) == 0 {
		return c, o, fmt.Errorf("-only %q matches no shape", *only)
	}
	o.procs = 2
	return c, o, nil
}

// flags returns the flags that a service's process needs.
func (o options) flags() []string {
	return []string{fmt.Sprintf("-metrics=%t", o.metrics), fmt.Sprintf("-gzip=%t", o.gzip)}
}

// environment returns the variables of a service's process.
func (o options) environment() []string {
	return append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", o.procs))
}

// everyProcs runs a command with 2 processors and, where the machine has them, with 8.
func everyProcs(run func(context.Context, options) error) func(context.Context, options) error {
	return func(ctx context.Context, o options) error {
		for _, procs := range []int{2, 8} {
			if procs > 2 && runtime.NumCPU() < procs {
				continue
			}
			if procs > 2 {
				fmt.Fprintln(o.out)
			}
			o.procs = procs
			if err := run(ctx, o); err != nil {
				return err
			}
		}
		return nil
	}
}

// inProcess runs a command that measures requests in its own process. The process holds memory without pointers, as
// services do: with a smaller heap, garbage would be collected after every few hundred requests. [service.Run] does the
// same for services in processes of their own.
func inProcess(run func(context.Context, options) error) func(context.Context, options) error {
	return func(ctx context.Context, o options) error {
		inUse := make([]byte, 16<<20)
		defer runtime.KeepAlive(inUse)
		return run(ctx, o)
	}
}

func runGate(ctx context.Context, o options) error {
	results, err := gate(ctx, o, variants, o.shapes)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.out, o.conditions())
	for _, r := range results {
		fmt.Fprintf(o.out, "\n%s", r.table())
	}
	return nil
}

func runReport(ctx context.Context, o options) error {
	fmt.Fprintln(o.out, o.conditions())
	for _, s := range o.shapes {
		if err := report(ctx, o, s); err != nil {
			return err
		}
	}
	return nil
}
