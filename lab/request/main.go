// Command request is the judge of what telemetry adds to a request: perfline beside
// OpenTelemetry, in the same run. It prints tables in Markdown:
//
//	go run -C lab ./request             # the judge: services with a handler that works
//	go run -C lab ./request diagnostic  # handlers that do nothing: shows small changes
//	go run -C lab ./request report      # more variants and rates, latencies, idle services
//	go run -C lab ./request overload    # as many requests as possible: what is lost
//	go run -C lab ./request waits       # the waits recorder, armed or not
//	go run -C lab ./request budgets     # budgets besides the judge, sizes and waits
//	go run -C lab ./request exporter    # the exporters alone, without the spans that they get
//	go run -C lab ./request kept        # unsampled requests that a policy keeps, or not
//	go run -C lab ./request signals     # what each signal beside spans adds
//	go run -C lab ./request spans       # spans alone, without requests
//	go run -C lab ./request heap        # what spans take while they wait
//	go run -C lab ./request sizes       # what telemetry adds to a program: megabytes and modules
//	go run -C lab ./request counts      # limits of allocations, modules and sizes
//	go run -C lab ./request -short      # all once and briefly: only allocations mean something
//
// The judge starts a service for each variant, and a process that receives what the services send.
// A request formats, hashes and encodes JSON between its marks, so that they do not run one after
// the other in hot caches. The judge counts the CPU time of the service's whole process, with
// background work, delivery and garbage collection. The client is in that process, where its time
// drops out of the differences, or in another one. The variants take turns in rounds, in an order
// by chance. A variant adds the median of its differences from no telemetry, round by round. The
// bounds of a ratio come from a bootstrap over the rounds. Every span has to arrive: the command
// fails when a variant loses or invents one.
//
// Beside the CPU time, rounds of their own count the samples of a CPU profile that belong to
// telemetry, for each sample of the handler's own work.
//
// The diagnostic gives prepared requests to a handler that does nothing, and its spans are encoded
// into memory. That is the least that telemetry can cost, and less than in any service.
//
// Flags go before the command's word. With -into, the tables are also written into a document,
// between the markers of the command's word. With -figures, figures and goals go to a file:
//
//	go run -C lab ./request -into ../docs/lab/benchmarks.md judge  # <!-- judge -->
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
	seed    uint64 // of the judge's order; 0: by chance
	short   bool
	queue   int       // spans that wait for the receiver at most
	waiting int       // spans of heap
	cuts    int       // parts of spans that are handed over, of spans
	burst   int       // requests of a processor between two flushes, in one process
	into    string    // a document; empty: none
	figures string    // a file; empty: none
	out     io.Writer // for the tables

	variant   int // of serve
	endpoint  string
	receivers string // of receive
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
	shapes []shape // that -only chooses from
	only   string
	run    func(context.Context, options) error
}

// servedShapes are the kinds of requests that services of their own get.
var servedShapes = slices.Concat(shapes, []shape{working})

var commands = []command{
	{"judge", 20, time.Second, []shape{working}, "", runJudge},
	{"diagnostic", 20, 200 * time.Millisecond, shapes, "", everyProcs(inProcess(runDiagnostic))},
	{"report", 5, 2 * time.Second, servedShapes, "^work$", everyProcs(runReport)},
	{"overload", 10, 2 * time.Second, []shape{working}, "", runOverload},
	{"blackbox", 20, 2 * time.Second, servedShapes, "^http$", runBlackBox},
	{"waits", 8, 2 * time.Second, servedShapes, "^(http|outgoing|sql)$", runWaits},
	{"budgets", 20, 200 * time.Millisecond, shapes, "", inProcess(runBudgets)},
	{"exporter", 20, 200 * time.Millisecond, shapes, "", everyProcs(inProcess(runExporter))},
	{"kept", 20, 200 * time.Millisecond, shapes, "", everyProcs(inProcess(runKept))},
	{"signals", 20, 200 * time.Millisecond, shapes, "", everyProcs(inProcess(runSignals))},
	{"spans", 20, 200 * time.Millisecond, shapes, "", everyProcs(inProcess(runSpans))},
	{"heap", 0, 0, shapes, "", runHeap},
	{"sizes", 0, 0, shapes, "", runSizes},
	{"counts", 0, 0, shapes, "", inProcess(counts)},

	// The command's own processes.
	{"serve", 0, 0, servedShapes, "",
		func(ctx context.Context,
			o options) error {
			return serve(ctx, o.shapes[0], o.variant, o.endpoint)
		}},
	{"receive", 0, 0, shapes, "",
		func(ctx context.Context, o options) error { return receive(ctx, o.receivers) }},
}

// ownWords is how many commands at the end are not for users.
const ownWords = 2

func run(ctx context.Context, args []string) error {
	c, o, err := parse(args)
	if err != nil {
		return err
	}
	if err := environment(o.gzip, o.queue); err != nil {
		return err
	}
	// A service's process leaves the provider unset, as a program does that has no metrics.
	if c.word != "serve" || o.metrics {
		otel.SetMeterProvider(meters(o.metrics))
	}
	if o.into == "" {
		o.out = os.Stdout
		if o.short {
			return runShort(ctx, o)
		}
		return c.run(ctx, o)
	}
	if err := document.Check(o.into, c.word); err != nil {
		return err
	}
	var text strings.Builder
	o.out = io.MultiWriter(os.Stdout, &text)
	if err := c.run(ctx, o); err != nil {
		return err
	}
	return document.Write(o.into, document.Part{Name: c.word, Text: text.String()})
}

func parse(args []string) (c command, o options, err error) {
	f := flag.NewFlagSet("request", flag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 0,
		"measure each variant in that many `rounds`; 0: 20, of report 5, of waits 8, of overload 10")
	f.DurationVar(&o.length, "length", 0,
		"measure a variant about that long in each round; 0: 200ms, of judge 1s, of report, overload and waits 2s")
	f.DurationVar(&o.idle, "idle", time.Minute,
		"how long the services have nothing to do, of report and budgets")
	only := f.String("only", "",
		"only shapes whose name matches this regular expression; empty: all, of report work, of waits http, outgoing and sql")
	f.BoolVar(&o.metrics, "metrics", false, "record metrics, on both sides")
	f.BoolVar(&o.gzip, "gzip", false, "compress what is sent, on both sides")
	f.BoolVar(&o.peers, "peers", true,
		"build dd-trace-go and sentry-go, and have them in judge and report")
	f.Uint64Var(&o.seed, "seed", 0,
		"of judge: the order of the variants; 0: by chance. The table has it")
	f.IntVar(&o.queue, "queue", queueSize,
		"of serve: so many `spans` wait for the receiver at most")
	f.IntVar(&o.waiting, "waiting", 100_000, "of heap and budgets: so many `spans` wait")
	f.IntVar(&o.burst, "burst", 256,
		"of the words in one process: a processor makes so many `requests` between two flushes")
	f.BoolVar(&o.short, "short", false, "run each command once and briefly: it shows that all work")
	f.StringVar(&o.into, "into", "",
		"also write the tables into this `document`, between the markers of the command's word")
	f.StringVar(&o.figures, "figures", "",
		"also add the figures to this `file`, for the laboratory's table")
	f.IntVar(&o.variant, "variant", 0, "of serve, which judge starts: the variant")
	f.StringVar(&o.endpoint, "endpoint", "", "of serve: the receiver")
	f.StringVar(&o.receivers, "receivers", "", "of receive, which judge starts: what to receive")
	if err := f.Parse(args); err != nil {
		return c, o, err
	}
	word := "judge"
	if f.NArg() > 0 {
		word = f.Arg(0)
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.word == word })
	if i < 0 || f.NArg() > 1 {
		return c, o, fmt.Errorf("command %q: must be one of %s, after the flags", f.Args(),
			strings.Join(words(), ", "))
	}
	if o.short && (f.NArg() > 0 || o.into != "" || o.figures != "") {
		return c, o, errors.New(
			"-short with a command, -into or -figures: it runs all commands, and its figures mean nothing")
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
	if o.burst < 1 {
		return c, o, fmt.Errorf("-burst %d: must be at least 1", o.burst)
	}
	o.procs, o.cuts = 2, 2000
	o.shapes, err = c.choose(*only)
	return c, o, err
}

// choose returns the command's shapes whose names match the regular expression.
func (c command) choose(only string) (chosen []shape, err error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	for _, s := range c.shapes {
		if pattern.MatchString(s.name) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-only %q matches no shape", only)
	}
	return chosen, nil
}

// runShort runs each command for users once and briefly, with its first shape. What it shows is
// that all work, and that all spans arrive.
func runShort(ctx context.Context, o options) error {
	o.rounds, o.length, o.idle, o.waiting, o.cuts, o.burst = 1, 10*time.Millisecond,
		100*time.Millisecond, 1000, 10, 8
	for _, word := range words() {
		if word == "sizes" { // counts has them
			continue
		}
		c := commands[slices.IndexFunc(commands, func(c command) bool { return c.word == word })]
		all, err := c.choose(c.only)
		if err != nil {
			return err
		}
		o.shapes, o.peers = all[:1], c.word == "judge"
		fmt.Fprintf(o.out, "\n%s\n", c.word)
		if err := c.run(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", c.word, err)
		}
	}
	return nil
}

// words are the commands for users.
func words() (all []string) {
	for _, c := range commands[:len(commands)-ownWords] {
		all = append(all, c.word)
	}
	return all
}

// flags returns the flags that a service's process needs.
func (o options) flags() []string {
	return []string{fmt.Sprintf("-metrics=%t", o.metrics), fmt.Sprintf("-gzip=%t", o.gzip),
		fmt.Sprintf("-queue=%d", o.queue)}
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

// inProcess runs a command that measures requests in its own process. The process holds memory
// without pointers, as services do: with a smaller heap, garbage would be collected after every few
// hundred requests. [service.Run] does the same for services in processes of their own.
func inProcess(run func(context.Context, options) error) func(context.Context, options) error {
	return func(ctx context.Context, o options) error {
		inUse := make([]byte, 16<<20)
		defer runtime.KeepAlive(inUse)
		return run(ctx, o)
	}
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
