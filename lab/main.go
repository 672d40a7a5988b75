// Command lab runs the laboratory: what is statistical, long, or needs a quiet machine. It runs
// every experiment, one after the other, also after one that falls short. It ends with one table
// of all figures beside their goals:
//
//	go run -C lab .                                # all experiments, about two hours
//	go run -C lab . slow trial                     # some, by name
//	go run -C lab . -list                          # their names
//	go run -C lab . -into ../docs/lab/latest.md    # also writes the table into the document
//	go run -C lab . -short                         # one brief round of each program, without goals
//
// The command exits with 1 if a goal was missed or an experiment failed. It needs Chromium, and
// builds the backends that are not there yet: bash .ci/run lab installs everything.
//
// With -short the landing gate sees that each program still works. Its figures mean nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/perfline/perfline/internal/document"
	"github.com/perfline/perfline/lab/internal/figures"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], experiments, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// marker is where a document has the table.
const marker = "lab"

func run(ctx context.Context, args []string, all []experiment, out io.Writer) error {
	f := flag.NewFlagSet("lab", flag.ContinueOnError)
	short := f.Bool("short", false,
		"run each program once and briefly: no goals, and its figures mean nothing")
	list := f.Bool("list", false, "print the experiments' names, and run none")
	into := f.String("into", "", "also write the table into this `document`, between its markers")
	if err := f.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(all, f.Args(), *short)
	if err != nil {
		return err
	}
	if *list {
		for _, e := range chosen {
			fmt.Fprintf(out, "%-12s %s\n", e.name, e.what)
		}
		return nil
	}
	if *into != "" {
		if *short || len(f.Args()) > 0 {
			return fmt.Errorf("-into %s: needs all experiments in full", *into)
		}
		if err := document.Check(*into, marker); err != nil {
			return err
		}
	}
	folder, err := os.MkdirTemp("", "lab")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var results []result
	for _, e := range chosen {
		if ctx.Err() != nil {
			break
		}
		fmt.Fprintf(out, "\n=== %s: %s\n", e.name, e.what)
		r := result{experiment: e, began: time.Now()}
		path := filepath.Join(folder, e.name)
		s := &setting{short: *short, figures: path, out: out}
		r.err = e.run(ctx, s)
		r.took, r.cpu = time.Since(r.began), s.cpu
		var unread error
		r.figures, unread = figures.Read(path)
		r.err = errors.Join(r.err, unread)
		fmt.Fprintf(out, "=== %s: %s after %.0f s, CPU %.0f s\n", e.name, r.verdict(),
			r.took.Seconds(), r.cpu.Seconds())
		results = append(results, r)
	}
	if *short {
		fmt.Fprintf(out, "\n%s", times(results))
	} else {
		fmt.Fprintf(out, "\n%s", table(results))
	}
	if *into != "" && ctx.Err() == nil {
		err = document.Write(*into, document.Part{Name: marker, Text: table(results)})
	}
	return errors.Join(err, context.Cause(ctx), missed(results))
}

// choose returns the experiments of these names; all, if there are none. A short run leaves out
// experiments that have no short form.
func choose(all []experiment, names []string, short bool) ([]experiment, error) {
	var chosen []experiment
	for _, e := range all {
		if (len(names) == 0 || slices.Contains(names, e.name)) && (!short || e.short != nil) {
			chosen = append(chosen, e)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(e experiment) bool { return e.name == name }) {
			return nil, fmt.Errorf("experiment %q: must be one of %s", name,
				strings.Join(namesOf(all), ", "))
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("experiments %q: none has a short form", names)
	}
	return chosen, nil
}

func namesOf(all []experiment) (names []string) {
	for _, e := range all {
		names = append(names, e.name)
	}
	return names
}

// missed returns an error that names what failed and which goals were missed; nil if all is well.
func missed(results []result) error {
	var errs []error
	for _, r := range results {
		if r.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.name, r.err))
		}
		for _, f := range r.figures {
			if f.Result == figures.Missed {
				errs = append(errs, fmt.Errorf("%s: %s is %s, must be %s", r.name, f.Name, f.Value,
					f.Goal))
			}
		}
	}
	return errors.Join(errs...)
}
