// Command scale measures what a request of the shop sends, what one Collector carries, and how
// much is stored:
//
//	go run -C lab ./scale
//
// Spans are sent to the Collector of deploy/collector.yaml, and from there to a receiver that
// forgets them. The sender, the Collector and the receiver share the machine's cores: the
// highest rates are lower bounds. CPU and bytes a span depend little on the load.
//
// The command request beside it measures the CPU of the services.
//
// With -into the tables are written into a document, between its markers. With -short every
// part runs once and briefly: it shows that all works, and its figures mean nothing.
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
	"github.com/perfline/perfline/lab/internal/figures"
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
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// options are what the command is told, and what -short makes of it.
type options struct {
	length  time.Duration // of one measurement
	into    string
	figures string // the file for them; empty: none
	short   bool

	spans    float64       // highest rate of spans that is tried
	halvings int           // of a search
	shop     time.Duration // how long the shop runs
	uploads  time.Duration // between uploads of its profiles
	disk     int           // spans that are stored on disk
}

func parse(args []string, usage io.Writer) (o options, err error) {
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	f.SetOutput(usage)
	f.DurationVar(&o.length, "length", 2*time.Second,
		"how long each measurement is, at least 100ms")
	f.StringVar(&o.into, "into", "", "document to write the tables into, between its markers")
	f.StringVar(&o.figures, "figures", "",
		"also add results to this `file` of figures, for the laboratory's table")
	f.BoolVar(&o.short, "short", false, "run every part once and briefly: the figures mean nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("arguments %q: there are none", f.Args())
	case o.length < 100*time.Millisecond:
		return o, fmt.Errorf("-length %v: must be at least 100ms", o.length)
	case o.short && o.into != "":
		return o, errors.New(
			"-short with -into: its figures mean nothing and belong in no document")
	}
	o.spans, o.halvings, o.disk = 5e6, 2, 200_000
	o.shop, o.uploads = 50*time.Second, 15*time.Second // the uploads are by default
	if o.short {
		o.length = 300 * time.Millisecond
		o.spans, o.halvings, o.disk = lowestSpans, 0, 2000
		o.shop, o.uploads = 1500*time.Millisecond, time.Second
	}
	return o, nil
}

// partNames are the document's markers.
var partNames = []string{"scale: collector", "scale: storage"}

// run measures all, prints the tables and writes them into the document.
func run(ctx context.Context, o options, out io.Writer) error {
	if o.into != "" {
		if err := document.Check(o.into, partNames...); err != nil {
			return err
		}
	}
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%5.0f s: %s\n", time.Since(began).Seconds(),
			fmt.Sprintf(format, args...))
	}
	say("the shop runs for %v", o.shop)
	shop, err := runShop(ctx, o.shop, o.uploads)
	if err != nil {
		return err
	}
	targets, err := measureTargets(ctx, o, shop.batch, say)
	if err != nil {
		return err
	}
	say("%d spans are stored", o.disk)
	onDisk, err := spanOnDisk(ctx, shop.batch, o.disk)
	if err != nil {
		return err
	}
	inMemory, err := spanInMemory(shop.batch)
	if err != nil {
		return err
	}
	if best, ok := targets[0].best(); ok {
		if err := figures.Add(o.figures,
			"spans/s that one Collector carries to a receiver that forgets them", "",
			number(best.rate), nil); err != nil {
			return err
		}
	}
	if err := figures.Add(o.figures, "bytes of a request's spans on the wire", "",
		number(shop.requestWire), nil); err != nil {
		return err
	}
	var parts []document.Part
	for i, text := range []string{collectorText(o, targets, shop),
		storageText(o, shop, inMemory, onDisk)} {
		parts = append(parts, document.Part{Name: partNames[i], Text: text})
	}
	for _, p := range parts {
		fmt.Fprintf(out, "<!-- %s -->\n\n%s\n<!-- /%s -->\n\n", p.Name, p.Text, p.Name)
	}
	if o.into != "" {
		if err := document.Write(o.into, parts...); err != nil {
			return err
		}
	}
	say("done")
	return nil
}
