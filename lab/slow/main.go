// Command slow judges what perfline says about slow requests. Its service has known causes:
//
//	go run -C lab ./slow             # each cause and each pair of causes, 20 requests of each
//	go run -C lab ./slow -short      # three requests that have all causes, and nothing is judged
//	go run -C lab ./slow -only '^mutex'
//	go run -C lab ./slow cost        # what the waits recorder costs
//	go run -C lab ./slow -into ../docs/lab/waits.md   # also writes the tables into the document
//	go run -C lab ./slow sdk         # each cause, beside the provider of OpenTelemetry's SDK
//	go run -C lab ./slow agent       # a client of mcpserver has to find the causes by its tools
//
// The service runs in a process of its own, and each series of requests has a new one. The
// command's process has all that the service calls: a dependency, a database and a device. It also
// makes background load on another route. A slow request takes a snapshot of the execution trace.
// The snapshot's result says in a sentence why the request was slow.
//
// For a limit of CPU time, the service runs in a control group of its own. This takes Linux,
// control groups of either version, and root. Elsewhere such a series is NOT RUN: it counts neither
// as right nor as wrong, and the text says why.
//
// The command fails unless all of this holds:
//
//   - In at least 95 % of all requests, and in at least 17 of 20 of each series, the sentence names
//     the right cause, and the holder if there is one. With two causes, it names the larger one
//     first.
//   - In each request, the states of the serving goroutine, with gaps, take as long as the root
//     span, to 2 %. All causes together take as long, too.
//   - No request of the background load fails.
//
// A request does not count if the sentence names other programs of the machine first, and the
// kernel confirms that. The service's threads had to wait for a processor, or the hypervisor ran
// another machine. A request does not count either if its larger part was not larger, by the
// service's clock. It is made again, and the text has the number of such requests.
//
// A limit makes threads wait for a processor, too. In its series, the kernel confirms other
// programs only if no processor was idle: while a limit alone stops the service, processors are.
//
// With -short the command only shows that each cause can be made and explained, on any machine.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/perfline/perfline/internal/document"
	"github.com/perfline/perfline/lab/internal/figures"
)

func main() {
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	end()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "slow:", err)
		os.Exit(1)
	}
}

// asService is the variable that the service's process has in a test, where the arguments belong to
// the test.
const asService = "PERFLINE_SLOW_SERVICE"

func command(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) > 0 && args[0] == serveWord {
		return serve(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == burnWord {
		return burn(ctx)
	}
	o, err := parse(args, log)
	if err != nil {
		return err
	}
	if o.into != "" {
		if err := document.Check(o.into, o.parts()...); err != nil {
			return err
		}
	}
	r := &reporter{began: time.Now(), log: log}
	var parts []document.Part
	if o.cost {
		parts, err = measureCosts(ctx, o, r)
	} else {
		parts, err = judgeAll(ctx, o, r)
	}
	for _, p := range parts {
		fmt.Fprintf(out, "<!-- %s -->\n\n%s\n<!-- /%s -->\n\n", p.Name, p.Text, p.Name)
	}
	if err == nil && o.into != "" {
		err = document.Write(o.into, parts...)
	}
	return err
}

// options are what the command is told.
type options struct {
	runs    int // of each series
	short   bool
	cost    bool
	agent   bool // the sentences are those that an agent finds
	sdk     bool // the SDK's provider makes the spans
	into    string
	figures string // the file for them; empty: none
	series  []series
}

// The document's parts.
const (
	causesPart   = "slow: causes"
	examplesPart = "slow: examples"
	costPart     = "slow: cost"
	agentPart    = "slow: agent"
	sdkPart      = "slow: sdk"

	shortPart = "slow: short" // of no document
)

func (o options) parts() []string {
	switch {
	case o.cost:
		return []string{costPart}
	case o.agent:
		return []string{agentPart}
	case o.sdk:
		return []string{sdkPart}
	}
	return []string{causesPart, examplesPart}
}

// Requests of a series.
const (
	fullRuns      = 20
	costWord      = "cost"
	agentWord     = "agent"
	sdkWord       = "sdk"
	shareOfAll    = 0.95 // of right sentences
	shareOfSeries = 0.85 // 17 of 20
)

func parse(args []string, usage io.Writer) (o options, err error) {
	f := flag.NewFlagSet("slow", flag.ContinueOnError)
	f.SetOutput(usage)
	f.BoolVar(&o.short, "short", false, "make few requests that have all causes, and judge nothing")
	f.StringVar(&o.figures, "figures", "",
		"also add results to this `file` of figures, for the laboratory's table")
	f.StringVar(&o.into, "into", "",
		"also write the tables into this `document`, between its markers")
	only := f.String("only", "",
		"only series whose name matches this regular expression: mutex, mutex+timer")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	known := f.NArg() == 0
	for word, chosen := range map[string]*bool{
		costWord: &o.cost, agentWord: &o.agent, sdkWord: &o.sdk,
	} {
		*chosen = f.NArg() == 1 && f.Arg(0) == word
		known = known || *chosen
	}
	o.runs = fullRuns
	if o.short {
		o.runs = 1
	}
	matches, err := regexp.Compile(*only)
	if err != nil {
		return o, fmt.Errorf("-only %q: %w", *only, err)
	}
	o.series = slices.DeleteFunc(allSeries(),
		func(s series) bool { return (o.agent || o.sdk) && len(s.causes) > 1 })
	if o.short {
		o.series = shortSeries(o.agent)
	}
	o.series = slices.DeleteFunc(o.series,
		func(s series) bool { return !matches.MatchString(s.name()) })
	switch {
	case !known:
		return o, fmt.Errorf("arguments %q: must be %s, %s, %s or none, after the flags", f.Args(),
			costWord, agentWord, sdkWord)
	case len(o.series) == 0:
		return o, fmt.Errorf("-only %q: matches no series", *only)
	case o.into != "" && (o.short || *only != ""):
		return o, fmt.Errorf("-into %s: needs all series in full", o.into)
	}
	return o, nil
}

// judgeAll makes all series.
func judgeAll(ctx context.Context, o options, r *reporter) (parts []document.Part, err error) {
	around, err := newSurroundings(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, around.close()) }()
	for i := range o.series {
		s := &o.series[i]
		s.wanted, s.agent, s.sdk, s.any = o.runs, o.agent, o.sdk, o.short
		if err := s.make(ctx, around, o.runs); err != nil {
			return nil, err
		}
		r.series(s)
	}
	switch {
	case o.agent:
		parts = []document.Part{{Name: agentPart, Text: agentText(o)}}
	case o.sdk:
		parts = []document.Part{{Name: sdkPart, Text: causesText(o)}}
	default:
		parts = []document.Part{{Name: causesPart, Text: causesText(o)},
			{Name: examplesPart, Text: examplesText(o)}}
	}
	if o.short {
		return append(parts, document.Part{Name: shortPart, Text: shortText(o)}), o.checkResults()
	}
	if o.notRun() == len(o.series) {
		return parts, errors.New("all series are NOT RUN")
	}
	return parts, errors.Join(o.check(), o.addFigure())
}

// addFigure adds the share of right sentences to the file of figures.
func (o options) addFigure() error {
	right, all := 0, 0
	for i := range o.series {
		right += o.series[i].count(verdict.right)
		all += len(o.series[i].runs)
	}
	what := "slow requests with a sentence that names the cause"
	switch {
	case o.agent:
		what = "slow requests whose cause an agent finds by the tools"
	case o.sdk:
		what = "slow requests beside the SDK's provider with a sentence that names the cause"
	}
	met := float64(right) >= shareOfAll*float64(all)
	value := fmt.Sprintf("%d of %d", right, all)
	if n := o.notRun(); n > 0 {
		value += fmt.Sprintf(", %d series NOT RUN", n)
	}
	return figures.Add(o.figures, what, fmt.Sprintf("≥ %.0f %%", 100*shareOfAll), value, &met)
}

// notRun returns how many series have no runs because the machine cannot have their causes.
func (o options) notRun() (n int) {
	for i := range o.series {
		if o.series[i].notRun != "" {
			n++
		}
	}
	return n
}

// check returns an error unless the rules of a run in full hold.
func (o options) check() error {
	var errs []error
	right, all := 0, 0
	for i := range o.series {
		s := &o.series[i]
		if s.notRun != "" {
			continue
		}
		n := s.count(verdict.right)
		right += n
		all += len(s.runs)
		if float64(n) < shareOfSeries*float64(len(s.runs)) {
			errs = append(errs, fmt.Errorf("%s: %d sentences of %d are right, must be %.0f %%",
				s.name(), n, len(s.runs), 100*shareOfSeries))
		}
		if len(s.runs) < cmp.Or(s.wanted, 1) {
			errs = append(errs, fmt.Errorf("%s: %d requests of %d: the machine is too busy",
				s.name(), len(s.runs), s.wanted))
		}
		for k, r := range slices.Concat(s.runs, s.disturbed) {
			if r.verdict.books != "" {
				errs = append(errs, fmt.Errorf("%s, request %d: %s", s.name(), k, r.verdict.books))
			}
		}
	}
	if float64(right) < shareOfAll*float64(all) {
		errs = append(errs, fmt.Errorf("%d sentences of %d are right, must be %.0f %%", right, all,
			100*shareOfAll))
	}
	return errors.Join(errs...)
}

// checkResults returns an error unless each request has a result.
func (o options) checkResults() error {
	var errs []error
	for i := range o.series {
		s := &o.series[i]
		for _, r := range s.runs {
			if r.Trouble != "" || r.Sentence == "" {
				errs = append(errs, fmt.Errorf("%s: the sentence is %q: %s", s.name(), r.Sentence,
					r.Trouble))
			}
		}
	}
	return errors.Join(errs...)
}

// A reporter says how far the command is.
type reporter struct {
	began time.Time
	log   io.Writer
}

func (r *reporter) say(format string, args ...any) {
	fmt.Fprintf(r.log, "%5.0f s: %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// series logs a series, with the sentences that are wrong.
func (r *reporter) series(s *series) {
	if s.notRun != "" {
		r.say("%s: NOT RUN: %s", s.name(), s.notRun)
		return
	}
	r.say("%s: %d of %d", s.name(), s.count(verdict.right), len(s.runs))
	for i, run := range slices.Concat(s.runs, s.disturbed) {
		if run.verdict.right() && run.verdict.books == "" {
			continue
		}
		if run.why != "" {
			r.say("  does not count: %s", run.why)
		}
		var parts []string
		for _, p := range run.parts {
			parts = append(parts,
				strings.TrimSpace(fmt.Sprintf("%s %v %s", p.cause.name, p.takes, p.way)))
		}
		r.say("  request %d (%s) of %v, parts %v, delayed %v: %q", i,
			strings.Join(parts, ", then "), run.Wall, run.Took, run.Delayed, run.Sentence)
		if run.verdict.books != "" {
			r.say("    %s", run.verdict.books)
		}
		for _, c := range run.Causes[:min(3, len(run.Causes))] {
			r.say("    %+v", c)
		}
	}
}
