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
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/service"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/requests"
)

const summaryPrefix = "/debug/summary/"

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

func run(ctx context.Context, o options) error {
	if err := o.check(); err != nil {
		return err
	}

	waits := newRecorder(o)
	pl, err := perfline.Start(ctx, perfline.Config{
		Service: "shop",
		Keep:    bridge.KeepPolicy{Slow: slow},
		Waits:   waits,
		// With metrics, all measures are in the histogram perfline.measure.duration. Their names
		// are constants.
		Measures: bridge.MeasureConfig{Names: []string{"*"}},

		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), // says when traces do not arrive
		// Clients of the live page and of the service may record sessions, and see all frames. Both
		// allow clients on this machine.
		Sessions: sessions.Config{Policy: profiling.Policy{Remote: true,
			Modules: []string{profiling.ModuleAny}}},
	})
	if err != nil {
		return err
	}
	// For the profiles of contention, which the runtime makes when told how often.
	runtime.SetMutexProfileFraction(10)
	runtime.SetBlockProfileRate(int(100 * time.Microsecond))

	measures, err := watchMeasures(observer.ProcessTimeline())
	if err != nil {
		return err
	}
	// Warnings become marks of the request they are about; errors are printed too.
	slog.SetDefault(slog.New(marks.NewHandler(
		slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}),
		slog.LevelWarn)))

	store, err := openStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	payments, err := serve(ctx, "127.0.0.1:0", bridgehttp.Server{
		ServerTiming: bridgehttp.ServerTiming{Trace: true, Names: []string{"bank"}},
	}.Middleware(paymentHandler()))
	if err != nil {
		return fmt.Errorf("payment service: %w", err)
	}
	shipping, shippingAddr, err := serveShipping(ctx)
	if err != nil {
		return fmt.Errorf("shipping service: %w", err)
	}
	defer shipping.Stop()
	conn, err := dialShipping(shippingAddr)
	if err != nil {
		return fmt.Errorf("shipping service: %w", err)
	}
	defer conn.Close()
	outer := http.NewServeMux()
	outer.Handle("/", bridgehttp.Server{
		ServerTiming: bridgehttp.ServerTiming{Trace: true,
			Names: []string{"render", "checkout", "sql.*", "shop.*"}},
	}.Middleware(newHandler(store, "http://"+payments.Addr, conn)))
	var authorize func(*http.Request) error // nil allows clients on this machine
	if o.published {
		authorize = published
	}
	// In place of net/http/pprof's, which fails while profiles are pushed.
	outer.Handle("GET /debug/pprof/profile",
		guard.Guard{Authorize: authorize}.Handler(http.HandlerFunc(profiling.ServeProfile)))
	outer.Handle(live.Prefix,
		live.Handler(pl, live.Config{Authorize: authorize, Data: guard.Everything}))
	outer.Handle(live.Prefix+"mcp",
		mcpserver.Handler(pl, mcpserver.Config{Authorize: authorize, Data: guard.Everything}))
	// A page without requests, as a service in production has it.
	outer.Handle(summaryPrefix,
		live.Handler(pl, live.Config{Prefix: summaryPrefix, Authorize: authorize,
			Data: guard.Summary}))
	outer.Handle(service.NewHandler(pl.Sessions(), service.Config{Authorize: authorize}))
	// outside the middleware: its traces are of no use
	outer.HandleFunc("GET /healthz", store.health)
	shop, err := serve(ctx, o.addr, outer)
	if err != nil {
		return err
	}
	shown := shop.Addr
	if o.published {
		shown = "localhost" + shown[strings.LastIndexByte(shown, ':'):]
	}
	fmt.Printf("shop: http://%s\n", shown)
	fmt.Printf("live page: http://%s%s\n", shown, live.Prefix)
	fmt.Printf("summary: http://%s%s\n", shown, summaryPrefix)

	var l *load
	var cpu, wall *profile.Trace
	switch {
	case o.forever: // without samples, whose buffers would be full before its end
		l = newLoad("http://"+shop.Addr, o.rps)
		l.run(ctx, 0)
	case o.duration > 0:
		samples, err := startSampling(ctx)
		if err != nil {
			return err
		}
		l = newLoad("http://"+shop.Addr, o.rps)
		l.run(ctx, o.duration)
		if cpu, wall, err = samples.stop(); err != nil {
			return err
		}
	default:
		<-ctx.Done()
	}

	// The servers first: then nothing is recorded any more and all of it is flushed.
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = errors.Join(shop.Shutdown(stopCtx), payments.Shutdown(stopCtx))
	if flushErr := pl.Flush(stopCtx); flushErr != nil {
		slog.Warn("not all spans are delivered yet", "error", flushErr) // Shutdown has the count
	}
	observer.ProcessTimeline().Deliver()
	if l != nil {
		report(os.Stdout, l, measures)
		if cpu != nil {
			reportHottest(os.Stdout, cpu)
			err = errors.Join(err, writeProfile(o.profile, cpu))
		}
		if q, ok := slowest(stopCtx, pl.Recent(), waits); ok {
			fmt.Println("\nThe slowest request:")
			err = errors.Join(err, requests.WriteWaterfall(os.Stdout, q, wall), draw(o.svg, q))
		}
	}
	err = errors.Join(err, pl.Shutdown(stopCtx))
	reportDelivery(os.Stdout, pl.Stats())
	return err
}

// draw writes a request as a picture, if a file is named.
func draw(file string, q requests.Request) error {
	if file == "" {
		return nil
	}
	var picture bytes.Buffer
	if err := requests.WriteSVG(&picture, q); err != nil {
		return err
	}
	return os.WriteFile(file, picture.Bytes(), 0o644)
}

// serve starts an HTTP server on addr and returns it with the address it got.
func serve(ctx context.Context, addr string, h http.Handler) (*http.Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &http.Server{Addr: l.Addr().String(), Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("server stopped", "addr", s.Addr, "error", err)
		}
	}()
	return s, nil
}
