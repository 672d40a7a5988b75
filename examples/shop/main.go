// Shop is a small web shop that shows perfline at work. It has a catalogue and orders
// in SQLite, a payment service over HTTP, a shipping service over gRPC, and marks and
// measures where they help. Run it with a load of its own,
//
//	go run ./shop -for 10s
//
// and it prints tables of its routes and measures, the hottest functions, and the
// slowest request as a waterfall with the functions of each span. With
// OTEL_EXPORTER_OTLP_ENDPOINT, it sends its traces, and with PYROSCOPE_SERVER_ADDRESS
// its profiles. Without -for it serves until it is interrupted, and with -forever under
// a load of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
)

type options struct {
	addr      string
	published bool
	duration  time.Duration
	forever   bool
	rps       int
	svg       string
	profile   string
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:0", "address to serve on; port 0 takes a free one")
	flag.BoolVar(&o.published, "published", false,
		"-addr is in a container, which publishes it on its host's loopback and nowhere else: who comes by the name localhost may see the live page")
	flag.DurationVar(&o.duration, "for", 0,
		"how long to run a load and then stop; 0 serves without a load until interrupted")
	flag.BoolVar(&o.forever, "forever", false, "run the load until interrupted")
	flag.IntVar(&o.rps, "rps", 100, "requests per second of the load, 1 to 20000")
	flag.StringVar(&o.svg, "svg", "", "file to draw the slowest request into")
	flag.StringVar(&o.profile, "profile", "",
		"file to write the load's CPU profile into, for go tool pprof")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func (o options) check() error {
	switch {
	case o.duration < 0:
		return fmt.Errorf("-for %v: must not be negative", o.duration)
	case o.rps < 1 || o.rps > 20_000:
		return fmt.Errorf("-rps %d: must be between 1 and 20000", o.rps)
	case o.forever && o.duration > 0:
		return fmt.Errorf("-forever and -for %v: only one of them", o.duration)
	case o.forever && o.profile != "":
		return fmt.Errorf("-forever and -profile %s: a load without an end has no profile of its own; PYROSCOPE_SERVER_ADDRESS gets them all the time", o.profile)
	}
	return nil
}

// run starts telemetry, serves until the load or ctx ends, and delivers the rest.
func run(ctx context.Context, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	recorder := newRecorder(o)
	pl, err := startTelemetry(ctx, recorder)
	if err != nil {
		return err
	}
	err = errors.Join(serveShop(ctx, o, pl, recorder), stopTelemetry(ctx, pl))
	reportDelivery(os.Stdout, pl.Stats())
	return err
}

// serveShop starts the database, the services that the shop calls, and the shop. It returns when
// the load or ctx has ended and the servers have stopped.
func serveShop(ctx context.Context, o options, pl *perfline.Pipeline,
	recorder waits.Recorder) error {
	measures, err := watchMeasures(observer.ProcessTimeline())
	if err != nil {
		return err
	}
	store, err := openStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	payments, err := servePayments(ctx)
	if err != nil {
		return fmt.Errorf("payment service: %w", err)
	}
	shipping, stopShipping, err := startShipping(ctx)
	if err != nil {
		return fmt.Errorf("shipping service: %w", err)
	}
	defer stopShipping()
	shop, err := serve(ctx, o.addr,
		mount(pl, o, store, newHandler(store, "http://"+payments.Addr, shipping)))
	if err != nil {
		return err
	}
	printAddresses(o, shop.Addr)
	run, err := runLoad(ctx, o, "http://"+shop.Addr)
	if err != nil {
		return err
	}

	// With the servers stopped, nothing is recorded any more: all of it can be flushed.
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 8*time.Second)
	defer cancel()
	err = stopServers(stopCtx, shop, payments)
	flush(stopCtx, pl)
	if run.load == nil {
		return err
	}
	return errors.Join(err, run.report(stopCtx, o, measures, pl.Recent(), recorder))
}

// printAddresses prints where the shop, the live page and the summary are.
func printAddresses(o options, addr string) {
	if o.published {
		addr = "localhost" + addr[strings.LastIndexByte(addr, ':'):]
	}
	fmt.Printf("shop: http://%s\n", addr)
	fmt.Printf("live page: http://%s%s\n", addr, live.Prefix)
	fmt.Printf("summary: http://%s%s\n", addr, summaryPrefix)
}
