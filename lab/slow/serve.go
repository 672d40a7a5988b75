package main

import (
	public "github.com/perfline/perfline/requests"

	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight"
)

// serveOptions are what the command tells the service's process.
type serveOptions struct {
	dependency, database, outside string // addresses
	live                          bool   // has much live memory, and little room beside it
	disarmed                      bool
	sdk                           bool // the SDK's provider makes the spans
	window                        time.Duration
	device                        [2]int
}

// The files that a process begins with: the standard ones, then exec.Cmd's ExtraFiles.
const deviceRequests, deviceAnswers = 3, 4

func parseServe(args []string) (o serveOptions, err error) {
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	f.StringVar(&o.dependency, "dependency", "", "its address")
	f.StringVar(&o.database, "database", "", "its address")
	f.StringVar(&o.outside, "outside", "", "the command's address")
	f.BoolVar(&o.live, "live", false, "have much live memory")
	f.BoolVar(&o.disarmed, "disarmed", false, "do not arm the waits recorder")
	f.BoolVar(&o.sdk, "sdk", false, "have the SDK's provider make the spans")
	f.DurationVar(&o.window, "window", 0, "how far the waits recorder reaches back; 0: its default")
	o.device = [2]int{deviceRequests, deviceAnswers}
	return o, f.Parse(args)
}

// serve is the service's process. It prints its two addresses, for requests and for the judge, and
// serves until its input ends.
func serve(ctx context.Context, args []string) (err error) {
	o, err := parseServe(args)
	if err != nil {
		return err
	}
	for _, fd := range o.device {
		if err := syscall.SetNonblock(fd, false); err != nil {
			return fmt.Errorf("device: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	recorder := &asked{
		Recorder: flight.NewRecorder(flight.Config{Armed: !o.disarmed, MinAge: o.window,
			MaxBytes: windowBytes, MinInterval: -1, MaxCPU: -1}),
		roots: map[trace.SpanID]bool{},
	}
	config := perfline.Config{
		// for the time when others have the processors
		Service: "shop", SpanExporter: discard{}, Traces: exporter.Config{QueueSize: 1 << 16},
		Waits: recorder, Keep: bridge.KeepPolicy{Slow: -1,
			Routes: map[string]time.Duration{slowRoute: little}, PerSecond: -1},
		Recent: public.Config{Newest: 2000, Slowest: 100, MaxBytes: 64 << 20},
		Logger: slog.New(slog.NewTextHandler(os.Stderr,
			&slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if o.sdk {
		provider := sdktrace.NewTracerProvider()
		defer func() { err = errors.Join(err, provider.Shutdown(ctx)) }()
		config.TracerProvider = provider
	}
	pipeline, err := perfline.Start(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pipeline.Shutdown(ctx)) }()
	b := newBench(recorder, (*requests.Recent)(pipeline.Recent()))
	defer recorder.Watch(b.arrived)()
	s, err := newShop(ctx, o)
	if err != nil {
		return err
	}
	judge := http.NewServeMux()
	judge.Handle("/", b.handler())
	judge.Handle(mcpPath, mcpserver.Handler(pipeline, mcpserver.Config{}))
	return listen(ctx, b.observe(bridgehttp.Middleware(s.handler())), judge)
}

// mcpPath is where the service has the tools for agents.
const mcpPath = "/mcp"

// windowBytes is of flight.Config: as much as the limits of the costs are about.
const windowBytes = 10 << 20

// listen serves requests and the judge until the program's input ends.
func listen(ctx context.Context, handlers ...http.Handler) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	var addresses []string
	for _, h := range handlers {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addresses = append(addresses, l.Addr().String())
		server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
		defer server.Close()
		serving.Go(func() { _ = server.Serve(l) }) // until Close
	}
	if _, err := fmt.Println(strings.Join(addresses, " ")); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// A bench looks at the slow requests from the outside, and has the recorder explain them.
type bench struct {
	recorder *asked
	recent   *requests.Recent

	mu      sync.Mutex // guards what follows
	waiting map[trace.TraceID]chan outcome
	spans   map[trace.TraceID]requests.Request // of slow requests, from their end on
}

func newBench(r *asked, recent *requests.Recent) *bench {
	return &bench{recorder: r, recent: recent, waiting: map[trace.TraceID]chan outcome{},
		spans: map[trace.TraceID]requests.Request{}}
}

// asked is a recorder that knows for which roots it was asked.
type asked struct {
	waits.Recorder

	mu    sync.Mutex // guards roots
	roots map[trace.SpanID]bool
}

func (a *asked) Slow(r bridge.Root) bool {
	a.mu.Lock()
	a.roots[r.SpanID] = true
	a.mu.Unlock()
	return a.Recorder.Slow(r)
}

// was reports whether Slow was called for a root.
func (a *asked) was(root trace.SpanID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.roots[root]
}

// A rootNote is where the handler of a slow request writes which span is its root.
type rootNote struct {
	span trace.SpanContext
}

type rootKey struct{}

// noteRoot is called by handlers of requests that are to be explained.
func noteRoot(ctx context.Context) {
	if n, ok := ctx.Value(rootKey{}).(*rootNote); ok {
		n.span = trace.SpanContextFromContext(ctx)
	}
}

// observe is around the middleware. It asks for the result of a request whose handler calls
// noteRoot, unless perfline has done that. The goroutine that ended the root calls the recorder, as
// the rules say.
func (b *bench) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, start := new(rootNote), time.Now()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), rootKey{}, n)))
		if !n.span.IsValid() {
			return
		}
		if snapshot, ok := b.recent.Snapshot(n.span.TraceID(), n.span.SpanID()); ok {
			b.mu.Lock()
			b.spans[n.span.TraceID()] = snapshot.Request()
			b.mu.Unlock()
		}
		root := bridge.Root{TraceID: n.span.TraceID(), SpanID: n.span.SpanID(), Name: r.Method +
			" " + r.URL.Path, Start: start, End: time.Now()}
		if !b.recorder.was(root.SpanID) && !b.recorder.Slow(root) {
			b.result(root.TraceID) <- outcome{Trouble: fmt.Sprintf(
				"the recorder takes no snapshot: %+v", b.recorder.Stats())}
		}
	})
}

// result is where the outcome for a trace comes.
func (b *bench) result(id trace.TraceID) chan outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.waiting[id]
	if !ok {
		c = make(chan outcome, 1)
		b.waiting[id] = c
	}
	return c
}

// arrived is called by the recorder, also for slow requests within others, which the judge does not
// ask for.
func (b *bench) arrived(root bridge.Root, r *waits.Request) {
	if root.Class == "inner" {
		return
	}
	o := outcome{Trouble: fmt.Sprintf("the recorder has no result: %+v", b.recorder.Stats())}
	if r != nil {
		o = b.describe(r)
	}
	b.result(root.TraceID) <- o
}

// handler answers the judge.
func (b *bench) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /result/{trace}", func(w http.ResponseWriter, r *http.Request) {
		id, err := trace.TraceIDFromHex(r.PathValue("trace"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case o := <-b.result(id):
			b.mu.Lock()
			delete(b.waiting, id)
			delete(b.spans, id)
			b.mu.Unlock()
			_ = json.NewEncoder(w).Encode(o)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /usage",
		func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(b.usage()) })
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// A usage is what the process and its recorder have used so far.
type usage struct {
	CPU   time.Duration
	Stats waits.Stats
}

func (b *bench) usage() usage {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // its argument is right
	}
	return usage{CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano()), Stats: b.recorder.Stats()}
}
