// Command trial shows what happens to a service, and to what it delivers, when backends fail:
//
//	go run -C lab ./trial -short
//
// Each row is a service in a process of its own, under a steady load, with real backends behind
// proxies, and a schedule of failures.
//
//   - A row such as jaeger/hanging has one backend that fails in one way. At first all is well.
//     Then the backend fails, for three times as long. Then all is well again, for as long as at
//     first or until everything has recovered.
//   - A row such as sigterm/healthy ends the service in the middle of the load.
//   - The row random has a Collector, a Jaeger behind it and a Pyroscope. Each fails at random, as
//     -seed says, and works again. The same -seed and -random fail in the same way at the same
//     times. The service has perfline's defaults; only profiles are uploaded more often in less
//     than five minutes.
//   - In the row jaeger/without logs, the service sends log records to a Jaeger, which does not
//     know them. The service's log must have one line about that.
//
// With a Collector, the service sends spans, log records and profiles over OTLP. The Collector
// passes log records and profiles on to this command, which counts them.
//
// The command checks the books at every look: accepted is delivered, lost for a counted cause, and
// pending. It fails if they do not add up, or if the backend has less than was counted as
// delivered. It fails if nothing recovers or a request fails. It fails if goroutines or the live
// heap do not come back; in the row random, if they grow. A backend whose disk was full, or that
// lies, may have less: the report has how much.
//
// With -into the report is written into a document, between its markers, if all is well. With
// -short a few rows of each kind run briefly and side by side: the books are checked, and not what
// a busy machine may change. The figures mean nothing.
//
// A full disk needs a small tmpfs, and that root: the report says if it was not made.
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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/perfline/perfline/internal/document"
	"github.com/perfline/perfline/lab/internal/figures"
	"github.com/perfline/perfline/lab/trial/internal/service"
)

func main() {
	service.Main() // the service is this program again
	set, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		// A signal ends the rows, which stop their backends and remove their small disks.
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, set)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "trial:", err)
		os.Exit(1)
	}
}

// settings are what the command is told.
type settings struct {
	length   time.Duration // of a row's fault
	random   time.Duration // of the random schedule; 0: none
	seed     uint64        // of it
	rate     int           // requests a second
	parallel int           // rows at a time
	short    bool
	svg      string
	into     string
	figures  string // the file for them; empty: none
	rows     []row
}

// well is how long all is well before the fault, and at least after it.
func (s settings) well() time.Duration { return s.length / 3 }

// total is what a row takes, without what it takes to recover.
func (s settings) total() time.Duration { return s.length + 2*s.well() }

const (
	minLength = 3 * time.Second
	maxLength = 10 * time.Minute
	maxRate   = 2000

	// Limits for a document's tables: ten seconds in which all is well, of which half is measured,
	// and two rows that share the machine.
	minDocumented         = 30 * time.Second
	maxDocumentedParallel = 2

	// The rows of a short run: each kind of row, and each backend.
	shortRows = "random,jaeger/disk full,jaeger/without logs,jaeger by http,collector/sigterm"

	// The document's parts.
	faultsPart, signalsPart, randomPart = "faults", "all signals", "random faults"
)

func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("trial", flag.ContinueOnError)
	f.SetOutput(usage)
	f.DurationVar(&s.length, "for", time.Minute,
		"how long a row's fault lasts; the row takes two thirds more, and as long as it takes to recover")
	f.DurationVar(&s.random, "random", 20*time.Minute,
		"how long the row random lasts, without the end's flushing; 0: leave it out")
	f.Uint64Var(&s.seed, "seed", 1, "which failures the row random has, and when")
	f.IntVar(&s.rate, "rate", 200, "requests a second")
	f.IntVar(&s.parallel, "parallel", 1,
		"rows at a time, but for random; over 2 their latencies are no measurements")
	f.BoolVar(&s.short, "short", false,
		"run a few rows of each kind, or those of -only, briefly and side by side: the figures mean nothing")
	f.StringVar(&s.svg, "svg", "",
		"file for a picture of the memory in the row random; none if empty")
	f.StringVar(&s.into, "into", "", "document to write the report into, between its markers")
	f.StringVar(&s.figures, "figures", "",
		"also add results to this `file` of figures, for the laboratory's table")
	only := f.String("only", "",
		"rows, by name or the part before the slash, with commas between: jaeger/hanging,sigterm")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if s.short {
		s.length, s.random, s.rate, s.parallel = minLength, minRandom, 20, 8
		*only = cmp.Or(*only, shortRows)
	}
	var err error
	s.rows, err = choose(s.allRows(), *only)
	withRandom := slices.ContainsFunc(s.rows, row.isRandom)
	switch {
	case err != nil:
		return s, err
	case f.NArg() > 0:
		return s, fmt.Errorf("%q: no arguments are taken, only flags", f.Args())
	case s.length < minLength || s.length > maxLength:
		return s, fmt.Errorf("-for %v: must be between %v and %v", s.length, minLength, maxLength)
	case s.random != 0 && s.random < minRandom:
		return s, fmt.Errorf("-random %v: must be 0 or at least %v", s.random, minRandom)
	case s.rate < 1 || s.rate > maxRate:
		return s, fmt.Errorf("-rate %d: must be between 1 and %d", s.rate, maxRate)
	case s.total().Seconds()*float64(s.rate) > 150_000:
		return s, fmt.Errorf(
			"-for %v -rate %d: %.0f requests are more than Jaeger is asked for, 150000", s.length,
			s.rate, s.total().Seconds()*float64(s.rate))
	case s.parallel < 1:
		return s, fmt.Errorf("-parallel %d: must be at least 1", s.parallel)
	case s.into != "" &&
		(s.short || s.splitsPart() || s.length < minDocumented ||
			s.parallel > maxDocumentedParallel):
		return s, fmt.Errorf(
			"-into %s: needs all rows, -only random or -only %q, with -for %v or more and -parallel %d or less: other figures are no measurements",
			s.into, "collector,"+withoutLogsName, minDocumented, maxDocumentedParallel)
	case s.into != "" && withRandom && s.random < minDefaultUploads:
		return s, fmt.Errorf(
			"-into %s: needs -random %v or more, or 0: the figures of less are no measurements",
			s.into, minDefaultUploads)
	case s.svg != "" && !withRandom:
		return s, fmt.Errorf("-svg %s: needs the row random", s.svg)
	}
	return s, nil
}

// allRows puts the row random first: in a short run it takes longest.
func (s settings) allRows() []row {
	var all []row
	if s.random > 0 {
		all = append(all, randomRow())
	}
	return append(append(append(all, faultRows()...), terminationRows()...), withoutLogsRow())
}

// splitsPart reports whether some rows of a part of the document are chosen, and others of it are
// not.
func (s settings) splitsPart() bool {
	return slices.ContainsFunc(s.allRows(), func(r row) bool {
		return slices.ContainsFunc(s.rows, func(c row) bool { return c.part == r.part }) &&
			!slices.ContainsFunc(s.rows, func(c row) bool { return c.name == r.name })
	})
}

func (r row) isRandom() bool { return r.name == randomName }

// choose returns the rows that are asked for, by name or by the part before the slash.
func choose(all []row, only string) ([]row, error) {
	if only == "" {
		return all, nil
	}
	var chosen []row
	for name := range strings.SplitSeq(only, ",") {
		name = strings.TrimSpace(name)
		found := false
		for _, r := range all {
			group, _, _ := strings.Cut(r.name, "/")
			if r.name != name && group != name {
				continue
			}
			found = true
			if !slices.ContainsFunc(chosen, func(c row) bool { return c.name == r.name }) {
				chosen = append(chosen, r)
			}
		}
		if !found {
			var names []string
			for _, r := range all {
				names = append(names, r.name)
			}
			return nil, fmt.Errorf("-only: there is no row %q; there are %s", name,
				strings.Join(names, ", "))
		}
	}
	return chosen, nil
}

func run(ctx context.Context, set settings) error {
	var parts []document.Part
	for _, name := range []string{faultsPart, signalsPart, randomPart} {
		if slices.ContainsFunc(set.rows, func(r row) bool { return r.part == name }) {
			parts = append(parts, document.Part{Name: name})
		}
	}
	if set.into != "" {
		for _, p := range parts {
			if err := document.Check(set.into, p.Name); err != nil {
				return fmt.Errorf("-into: %w", err)
			}
		}
	}
	results := runRows(ctx, set)
	var failed []string
	well := 0
	for _, r := range results {
		if len(r.wrong) == 0 {
			well++
		}
		for _, err := range r.wrong {
			failed = append(failed, fmt.Sprintf("%s: %v", r.name, err))
		}
	}
	for i := range parts {
		of := slices.DeleteFunc(slices.Clone(results),
			func(r *result) bool { return r.part != parts[i].Name })
		var text strings.Builder
		if parts[i].Name != randomPart {
			writeTables(&text, of, set)
		}
		for _, r := range of {
			text.WriteString(r.text)
		}
		parts[i].Text = text.String()
		fmt.Println(parts[i].Text)
	}
	met := well == len(set.rows)
	if err := figures.Add(set.figures, "ways to fail after which the books add up and all recovers",
		"all", fmt.Sprintf("%d of %d", well, len(set.rows)), &met); err != nil {
		return err
	}
	if len(failed) > 0 {
		return errors.New("not all is well:\n" + strings.Join(failed, "\n"))
	}
	if err := ctx.Err(); err != nil || set.into == "" {
		return err
	}
	return document.Write(set.into, parts...)
}

// runRows runs the rows, and returns the results of those that were begun.
func runRows(ctx context.Context, set settings) []*result {
	results := make([]*result, len(set.rows))
	slots := make(chan struct{}, set.parallel)
	var begun sync.WaitGroup
	for i, r := range set.rows {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		begun.Go(func() {
			defer func() { <-slots }()
			fmt.Fprintf(os.Stderr, "%s: begins, %d of %d\n", r.name, i+1, len(set.rows))
			began := time.Now()
			results[i] = r.run(ctx, set)
			fmt.Fprintf(os.Stderr, "%s: %s, %v\n", r.name, results[i].verdict(),
				time.Since(began).Round(time.Second))
		})
		if r.isRandom() && !set.short { // nothing else may run beside it
			begun.Wait()
		}
	}
	begun.Wait()
	return slices.DeleteFunc(results, func(r *result) bool { return r == nil })
}
