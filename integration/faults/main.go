// Command faults shows what happens to a service, and to what it delivers, when a
// backend fails:
//
//	go run -C integration ./faults
//
// Each row of its table is a service in a process of its own, under a steady load,
// with one backend that is really there, behind a proxy. At first all is well, then the
// backend fails in one way, for three times as long, and then all is well again, for as long
// as at first or until everything has recovered. The last rows end the service by SIGTERM
// in the middle of the load.
//
// The books are checked at every look, several times a second. The command fails where
// they do not add up, where the backend has less than was counted as delivered, where
// nothing recovers, where a request fails, and where goroutines or the live heap do not come
// back. A backend whose disk was full, or that lies, may have less: the row tells.
//
// With -into the table is written into a document, between its markers, if all is well.
//
// A full disk needs a small tmpfs, and that root: the row says if it was not made.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/perfline/perfline/integration/trial"
	"github.com/perfline/perfline/internal/document"
)

func main() {
	trial.Main() // the service is this program again
	length := flag.Duration("for", time.Minute, "how long a fault lasts; a row takes two thirds more, and as long as it takes to recover")
	rate := flag.Int("rate", 200, "requests a second")
	only := flag.String("only", "", "rows, by name or the part before the slash, with commas between: jaeger/hanging,sigterm")
	parallel := flag.Int("parallel", 1, "rows at a time; over 2 their latencies are no measurements")
	into := flag.String("into", "", "document to write the table into, between its markers")
	flag.Parse()
	// What is stopped stops its backends and takes its small disks away.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *length, *rate, *only, *parallel, *into, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// settings are what all rows have in common.
type settings struct {
	length time.Duration // of the fault
	rate   int
}

// well is how long all is well before the fault, and at least after it.
func (s settings) well() time.Duration { return s.length / 3 }

// total is what a row takes, without what it takes to recover.
func (s settings) total() time.Duration { return s.length + 2*s.well() }

const (
	minLength = 3 * time.Second
	maxLength = 10 * time.Minute
	maxRate   = 2000

	// What a document's table is made with, at least and at most: ten seconds in which all is
	// well, of which half is measured, and two rows that share the machine.
	minDocumented         = 30 * time.Second
	maxDocumentedParallel = 2

	part = "faults" // of the document
)

func run(ctx context.Context, length time.Duration, rate int, only string, parallel int, into string, rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q: no arguments are taken, only flags", rest)
	case length < minLength || length > maxLength:
		return fmt.Errorf("-for %v: must be between %v and %v", length, minLength, maxLength)
	case rate < 1 || rate > maxRate:
		return fmt.Errorf("-rate %d: must be between 1 and %d", rate, maxRate)
	case parallel < 1:
		return fmt.Errorf("-parallel %d: must be at least 1", parallel)
	case into != "" && (length < minDocumented || only != "" || parallel > maxDocumentedParallel):
		return fmt.Errorf("-into %s: needs all rows, without -only, with -for %v or more and -parallel %d or less: other figures are no measurements", into, minDocumented, maxDocumentedParallel)
	}
	if into != "" {
		if err := document.Check(into, part); err != nil {
			return fmt.Errorf("-into: %w", err)
		}
	}
	chosen, err := choose(rows(), only)
	if err != nil {
		return err
	}
	if n := (settings{length, rate}).total().Seconds() * float64(rate); n > 150_000 {
		return fmt.Errorf("-for %v -rate %d: %.0f requests are more than Jaeger is asked for, 150000", length, rate, n)
	}
	results := make([]*result, len(chosen))
	slots := make(chan struct{}, parallel)
	var running sync.WaitGroup
	for i, r := range chosen {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			fmt.Fprintf(os.Stderr, "%s: begins, %d of %d\n", r.name, i+1, len(chosen))
			began := time.Now()
			results[i] = r.run(ctx, settings{length, rate})
			fmt.Fprintf(os.Stderr, "%s: %s, %v\n", r.name, results[i].verdict(), time.Since(began).Round(time.Second))
		})
	}
	running.Wait()
	results = slices.DeleteFunc(results, func(r *result) bool { return r == nil }) // were not begun
	var table bytes.Buffer
	writeTable(&table, results, settings{length, rate}, parallel)
	fmt.Print(table.String())
	var failed []string
	for _, r := range results {
		for _, err := range r.wrong {
			failed = append(failed, fmt.Sprintf("%s: %v", r.name, err))
		}
	}
	if len(failed) > 0 {
		return errors.New("not all is well:\n" + strings.Join(failed, "\n"))
	}
	if err := ctx.Err(); err != nil || into == "" {
		return err
	}
	return document.Write(into, document.Part{Name: part, Text: table.String()})
}

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
			return nil, fmt.Errorf("-only: there is no row %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	return chosen, nil
}
