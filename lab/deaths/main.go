// Command deaths kills services under load, and compares what the next process reports with the
// truth:
//
//	go run -C lab ./deaths             # 200 deaths, and 20 at the bounds of the black box
//	go run -C lab ./deaths -short      # one death of each kind, under little load
//	go run -C lab ./deaths -only '^nil'
//	go run -C lab ./deaths -into ../docs/lab/deaths.md   # also writes the tables there
//
// The service runs in a process of its own, with a black box. Its requests take 1 to 200 ms. Each
// has marks, a measure and spans. The command's process makes the load, is the backend, and notes
// how the process ended, as "blackbox run" does. The service notes each request in a mapped file,
// which is independent of perfline. After each death, another process starts with the same
// directory.
//
// For the memory limit, the service runs in a control group of its own. This takes Linux, control
// groups of either version, and root. Elsewhere SIGKILL stands in, and the table says so.
//
// The command fails unless all of this holds for each death:
//
//   - The kind is right, with the parent's note and without.
//   - Each request that had been open for 20 ms is reported as open, with its newest mark. No other
//     request is reported as open.
//   - If a request ended the process, the report names the request. If a panic's deferred functions
//     have ended the request, the backend may have the request as finished instead.
//   - The backend has each finished request with all spans.
//   - No span comes twice, unless the service died before it saw the backend's answer.
//   - At a bound, what is reported and what is counted as left out are the truth together.
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
	"strings"
	"time"

	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/document"
	"github.com/perfline/perfline/lab/internal/cgroup"
	"github.com/perfline/perfline/lab/internal/figures"
)

func main() {
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	end()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "deaths:", err)
		os.Exit(1)
	}
}

// asService is the variable that the service's process has in a test, where the arguments belong to
// the test.
const asService = "PERFLINE_DEATHS_SERVICE"

// options are what the command is told.
type options struct {
	deaths, bounds int // of each kind
	rate           float64
	short          bool
	into, figures  string
	only           *regexp.Regexp
}

const (
	fullDeaths = 25 // of each kind
	fullBounds = 5
	fullRate   = 1000
	shortRate  = 100
)

func parse(args []string, usage io.Writer) (o options, err error) {
	f := flag.NewFlagSet("deaths", flag.ContinueOnError)
	f.SetOutput(usage)
	f.IntVar(&o.deaths, "deaths", fullDeaths, "of each kind")
	f.IntVar(&o.bounds, "bounds", fullBounds, "deaths at each bound")
	f.Float64Var(&o.rate, "rate", fullRate, "requests a second")
	f.BoolVar(&o.short, "short", false, "one death of each kind, under little load")
	f.StringVar(&o.figures, "figures", "",
		"also add results to this `file` of figures, for the laboratory's table")
	f.StringVar(&o.into, "into", "",
		"also write the tables into this `document`, between its markers")
	only := f.String("only", "", "only kinds and bounds whose name matches this regular expression")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.short {
		o.deaths, o.bounds, o.rate = 1, 1, shortRate
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only %q: %w", *only, err)
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("arguments %q: must be none", f.Args())
	case o.deaths < 1 || o.bounds < 1 || o.rate <= 0:
		return o, errors.New("-deaths, -bounds and -rate: must be above 0")
	case o.into != "" && (o.short || *only != ""):
		return o, fmt.Errorf("-into %s: needs all deaths", o.into)
	}
	return o, nil
}

// The document's parts.
const (
	kindsPart  = "deaths: kinds"
	boundsPart = "deaths: bounds"
)

func command(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case serveWord:
			return serve(ctx, args[1:])
		case succeedWord:
			return succeed(ctx, args[1:])
		}
	}
	o, err := parse(args, log)
	if err != nil {
		return err
	}
	if o.into != "" {
		if err := document.Check(o.into, kindsPart, boundsPart); err != nil {
			return err
		}
	}
	r := &results{options: o, began: time.Now(), log: log}
	if err := r.run(ctx); err != nil {
		return err
	}
	parts := []document.Part{
		{Name: kindsPart, Text: r.kindsText()}, {Name: boundsPart, Text: r.boundsText()},
	}
	for _, p := range parts {
		fmt.Fprintf(out, "<!-- %s -->\n\n%s\n<!-- /%s -->\n\n", p.Name, p.Text, p.Name)
	}
	if o.into != "" {
		if err := document.Write(o.into, parts...); err != nil {
			return err
		}
	}
	met := len(r.faults) == 0
	err = figures.Add(o.figures, "deaths whose report differs from the truth", "0",
		fmt.Sprintf("%d of %d", r.wrong, r.deaths()), &met)
	if !met {
		err = errors.Join(err, errors.New(strings.Join(r.faults, "\n")))
	}
	return err
}

// results are the outcomes of all deaths.
type results struct {
	options
	began time.Time
	log   io.Writer

	kinds  []ofKind
	bounds []ofBound
	wrong  int // deaths with a fault
	faults []string
}

type ofKind struct {
	kind
	outcomes []outcome
}

type ofBound struct {
	bound
	outcomes []bounded
}

func (r *results) deaths() (n int) {
	for _, k := range r.kinds {
		n += len(k.outcomes)
	}
	return n + r.deathsAtBounds()
}

func (r *results) deathsAtBounds() (n int) {
	for _, b := range r.bounds {
		n += len(b.outcomes)
	}
	return n
}

// run makes the deaths: one of each kind, and so on, so that what the machine does meanwhile meets
// all kinds.
func (r *results) run(ctx context.Context) error {
	for _, k := range kinds {
		if !r.only.MatchString(k.name) {
			continue
		}
		if k.group {
			g, err := cgroup.New(ctx, cgroup.Root, "memory", memorySettings)
			if err != nil {
				k = standIn(k, err)
			} else if err := g.Close(); err != nil {
				return err
			}
		}
		r.kinds = append(r.kinds, ofKind{kind: k})
	}
	for _, b := range bounds {
		if r.only.MatchString(b.name) {
			r.bounds = append(r.bounds, ofBound{bound: b})
		}
	}
	if len(r.kinds)+len(r.bounds) == 0 {
		return fmt.Errorf("-only %q: matches nothing", r.only)
	}
	for i := range r.options.deaths {
		for j := range r.kinds {
			k := &r.kinds[j]
			if r.options.deaths > 1 && k.every > 0 && i%2 != k.every%2 {
				continue
			}
			o, err := r.die(ctx, &k.kind)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			k.outcomes = append(k.outcomes, o)
			r.note(k.name, fmt.Sprintf("%+v", o), o.faults(&k.kind))
		}
	}
	for j := range r.bounds {
		b := &r.bounds[j]
		for range r.options.bounds {
			o, err := r.dieAt(ctx, &b.bound)
			if err != nil {
				return fmt.Errorf("%s: %w", b.name, err)
			}
			b.outcomes = append(b.outcomes, o)
			r.note(b.name, fmt.Sprintf("%+v", o), o.faults())
		}
	}
	return nil
}

// faults returns what must not be.
func (o bounded) faults() (all []string) {
	if o.kind != blackbox.Killed {
		all = append(all, fmt.Sprintf("the kind is %q, must be %q", o.kind, blackbox.Killed))
	}
	for _, b := range o.books {
		if !b.balances() {
			all = append(all, fmt.Sprintf("%s: %d reported and %d left out, must be %d to %d",
				b.what, b.reported, b.leftOut, b.least, b.most))
		}
	}
	return all
}

func (r *results) note(name, what string, faults []string) {
	fmt.Fprintf(r.log, "%5.0f s: %s: %s\n", time.Since(r.began).Seconds(), name, what)
	if len(faults) > 0 {
		r.wrong++
		fmt.Fprintf(r.log, "         WRONG: %s\n", strings.Join(faults, "; "))
		r.faults = append(r.faults, name+": "+strings.Join(faults, "; "))
	}
}
