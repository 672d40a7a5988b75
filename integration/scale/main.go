// Command scale measures what one service with perfline takes and holds, what one
// Collector carries and how much is stored, and computes from that what many services
// take:
//
//	go run -C integration ./scale
//
// The service is a process of its own. Its spans go through a proxy that counts bytes to
// the Collector of deploy/collector.yaml, and from there to a receiver that forgets them.
// The load, the Collector and the receiver are on the same machine and take of the same
// cores: the highest rates are lower bounds. CPU a request depends little on it, bytes a
// request not at all. Whoever is measured takes turns with the others, so that the machine's
// own unrest meets all of them.
//
// With -into the tables are written into a document, between its markers, and with -svg
// the curves are drawn. With -short every part runs once and briefly: it shows that all
// works, and its figures mean nothing.
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

	"github.com/perfline/perfline/integration/document"
	"github.com/perfline/perfline/integration/trial"
)

func main() {
	trial.Main()
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
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// options are what the command is told, and what -short makes of it.
type options struct {
	length   time.Duration // of one measurement
	rounds   int           // of all that is measured at given rates
	services int           // of the fleet
	rate     int           // requests a second, of each service of the fleet
	svg      string
	into     string
	short    bool

	wait     time.Duration // of spans in the service for their batch, at most; the default of five seconds were long
	highest  int           // rate of requests that is tried
	spans    float64       // highest rate of spans that is tried
	halvings int           // of a search
	shop     time.Duration // how long the shop runs
	uploads  time.Duration // between those of its profiles
	disk     int           // spans that are stored on disk
}

func parse(args []string, usage io.Writer) (o options, err error) {
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	f.SetOutput(usage)
	f.DurationVar(&o.length, "length", 2*time.Second, "how long each measurement is, at least 100ms")
	f.IntVar(&o.rounds, "rounds", 2, "how often each given rate is measured, at least 1")
	f.IntVar(&o.services, "services", 1000, "services of the fleet that is computed")
	f.IntVar(&o.rate, "rate", 1000, "requests a second of each of them, at which all ways are compared")
	f.StringVar(&o.svg, "svg", "", "file to draw the curves into")
	f.StringVar(&o.into, "into", "", "document to write the tables into, between its markers")
	f.BoolVar(&o.short, "short", false, "run every part once and briefly: the figures mean nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("arguments %q: there are none", f.Args())
	case o.length < 100*time.Millisecond:
		return o, fmt.Errorf("-length %v: must be at least 100ms", o.length)
	case o.rounds < 1:
		return o, fmt.Errorf("-rounds %d: must be at least 1", o.rounds)
	case o.services < 1:
		return o, fmt.Errorf("-services %d: must be at least 1", o.services)
	case o.rate < 10:
		return o, fmt.Errorf("-rate %d: must be at least 10", o.rate)
	case o.short && o.into != "":
		return o, errors.New("-short with -into: its figures mean nothing and belong in no document")
	}
	o.highest, o.spans, o.halvings, o.disk = 200_000, 5e6, 2, 200_000
	o.wait, o.shop, o.uploads = time.Second, 50*time.Second, 15*time.Second // the uploads are by default
	if o.short {
		o.length, o.rounds, o.rate = 300*time.Millisecond, 1, 2*lowest
		o.highest, o.spans, o.halvings, o.disk = 2*lowest, 2*lowestSpans, 0, 20_000
		o.wait, o.shop, o.uploads = 200*time.Millisecond, 3500*time.Millisecond, time.Second
	}
	return o, nil
}

// partNames are the document's markers.
var partNames = []string{"scale: service", "scale: collector", "scale: storage", "scale: fleet", "scale: public figures"}

// run measures all, and prints, draws and writes what was asked for.
func run(ctx context.Context, o options, out io.Writer) error {
	if o.into != "" {
		if err := document.Check(o.into, partNames...); err != nil {
			return err
		}
	}
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%5.0f s: %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	c, err := measureCurve(ctx, o, say)
	if err != nil {
		return err
	}
	say("the shop runs for %v", o.shop)
	sh, err := shop(ctx, o.shop, o.uploads)
	if err != nil {
		return err
	}
	targets, err := measureTargets(ctx, o, sh.batch, say)
	if err != nil {
		return err
	}
	say("%d spans are stored", o.disk)
	onDisk, err := spanOnDisk(ctx, sh.batch, o.disk)
	if err != nil {
		return err
	}
	inMemory, err := spanInMemory(sh.batch)
	if err != nil {
		return err
	}
	m := c.measured(targets[0], sh)
	m.onDisk, m.inMemory = onDisk, inMemory
	var parts []document.Part
	for i, text := range []string{serviceText(o, c), collectorText(o, targets, sh), storageText(o, m, sh), fleetText(o, m), publicText()} {
		parts = append(parts, document.Part{Name: partNames[i], Text: text})
	}
	for _, p := range parts {
		fmt.Fprintf(out, "<!-- %s -->\n\n%s\n<!-- /%s -->\n\n", p.Name, p.Text, p.Name)
	}
	if o.svg != "" {
		if err := c.draw(o.svg); err != nil {
			return err
		}
	}
	if o.into != "" {
		if err := document.Write(o.into, parts...); err != nil {
			return err
		}
	}
	say("done")
	return nil
}
