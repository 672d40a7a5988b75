// Command pagecost measures what the live page costs the program that serves it, in memory and in
// CPU time:
//
//	go run -C lab ./pagecost
//
// It starts the shop, sends it requests at a steady rate, and opens the page in Chromium. The page
// stays open for half an hour. Then it is closed and opened in turns, and the shop's CPU time is
// compared. At the end requests come as fast as the shop answers. Chromium, the sender and the shop
// share the machine's cores. Only the shop's process is measured.
//
// With -into the tables are written into a document, between its markers. With -short every part
// runs briefly: it shows that all works, and its figures mean nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/perfline/perfline/internal/document"
)

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, o, os.Stdout)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pagecost:", err)
		os.Exit(1)
	}
}

type options struct {
	open    time.Duration // how long the page stays open
	rate    float64       // requests a second
	turns   int           // pairs of times with the page and without it
	into    string
	figures string // the file for them; empty: none
	short   bool

	turn   time.Duration // the length of one of a pair
	settle time.Duration // before each of them
	flat   time.Duration // at the highest rate
}

// shortestOpen has a table of memory whose moments are not all the same.
const shortestOpen = time.Second

// marker is where a document has the tables.
const marker = "pagecost"

func parse(args []string, usage io.Writer) (o options, err error) {
	f := flag.NewFlagSet("pagecost", flag.ContinueOnError)
	f.SetOutput(usage)
	f.DurationVar(&o.open, "open", 30*time.Minute, "how long the page stays open, at least 1s")
	f.Float64Var(&o.rate, "rate", 1000, "requests a second, at least 10")
	f.IntVar(&o.turns, "turns", 12,
		"times with the page and without it that are compared, at least 1")
	f.StringVar(&o.into, "into", "", "document to write the tables into, between its markers")
	f.StringVar(&o.figures, "figures", "",
		"also add results to this `file` of figures, for the laboratory's table")
	f.BoolVar(&o.short, "short", false, "run every part briefly: the figures mean nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.turn, o.settle, o.flat = 15*time.Second, 2*time.Second, 10*time.Second
	if o.short {
		o.open, o.rate, o.turns = shortestOpen, 50, 1
		o.turn, o.settle, o.flat = 100*time.Millisecond, 0, 100*time.Millisecond
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("arguments %q: there are none", f.Args())
	case o.open < shortestOpen:
		return o, fmt.Errorf("-open %v: must be at least %v", o.open, shortestOpen)
	case o.rate < 10:
		return o, fmt.Errorf("-rate %g: must be at least 10", o.rate)
	case o.turns < 1:
		return o, fmt.Errorf("-turns %d: must be at least 1", o.turns)
	case o.short && o.into != "":
		return o, errors.New(
			"-short with -into: its figures mean nothing and belong in no document")
	case o.into != "":
		return o, document.Check(o.into, marker)
	}
	return o, nil
}
