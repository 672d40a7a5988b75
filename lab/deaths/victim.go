package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/marks"
)

// The words that make this program the service, or the process after it.
const (
	serveWord   = "serve"
	succeedWord = "succeed"
)

// A victim is the service's process, or the one after it.
type victim struct {
	dir, truth, endpoint string
}

func (v *victim) flags(word string) *flag.FlagSet {
	f := flag.NewFlagSet(word, flag.ContinueOnError)
	f.StringVar(&v.dir, "dir", "", "of the black box")
	f.StringVar(&v.truth, "truth", "", "the file of the truth")
	f.StringVar(&v.endpoint, "endpoint", "", "of the backend")
	return f
}

// queueSize is large: what a full queue drops, the process loses without a death.
const queueSize = 1 << 22

func (v *victim) start(ctx context.Context) (*perfline.Pipeline, error) {
	return perfline.Start(ctx, perfline.Config{
		Service: "victim", BlackBox: v.dir,
		Traces: exporter.Config{Endpoint: v.endpoint, Protocol: exporter.HTTP, QueueSize: queueSize,
			QueueBytes: 1 << 30},
		Logger: slog.New(slog.DiscardHandler),
	})
}

// serve serves until SIGTERM or a death. It prints its addresses, for HTTP and for gRPC.
func serve(ctx context.Context, args []string) (err error) {
	v := &victim{}
	if err := v.flags(serveWord).Parse(args); err != nil {
		return err
	}
	t, err := openTruth(v.truth)
	if err != nil {
		return err
	}
	go t.live()
	pipeline, err := v.start(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /wait/{ms}": work, "GET /marks/{ms}": manyMarks, "GET /large/{ms}": largeSpan,
		"GET /stream": stream, "GET /die/{how}": die,
	} {
		mux.HandleFunc(pattern, t.inside(handler))
	}
	server := &http.Server{Handler: t.around(bridgehttp.Middleware(mux)),
		ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 2 * streams}}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	calls := grpc.NewServer(grpc.StatsHandler(bridgegrpc.Server{}.Handler()))
	healthpb.RegisterHealthServer(calls, &callee{truth: t})
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	go func() { _ = server.Serve(listeners[0]) }() // until Shutdown
	go func() { _ = calls.Serve(listeners[1]) }()  // until Stop
	fmt.Println(listeners[0].Addr(), listeners[1].Addr())
	<-ctx.Done()
	ctx = context.WithoutCancel(ctx)
	err = server.Shutdown(ctx)
	calls.Stop()
	return errors.Join(err, pipeline.Shutdown(ctx))
}

// duration is how long a request takes.
func duration(r *http.Request) time.Duration {
	ms, _ := strconv.Atoi(r.PathValue("ms"))
	return time.Duration(ms) * time.Millisecond
}

func tracer() trace.Tracer { return otel.Tracer("victim") }

// spansOfWork are the spans of a request of work: the root, three spans and a measure.
const spansOfWork = 5

// work makes two child spans, of which one is in the other one, marks, and a measure.
func work(_ http.ResponseWriter, r *http.Request) {
	ctx, note, part := r.Context(), recordOf(r.Context()), duration(r)/4
	step := func(ctx context.Context) {
		n := note.steps.Load()
		marks.Mark(ctx, "step", slog.Int64("n", n))
		note.steps.Store(n + 1)
		note.entries.Add(1)
	}
	inner, query := tracer().Start(ctx, "query",
		trace.WithAttributes(attribute.String("table", "orders")))
	time.Sleep(part)
	step(inner)
	_, rows := tracer().Start(inner, "rows")
	time.Sleep(part)
	rows.End()
	note.entries.Add(1)
	query.End()
	note.entries.Add(1)
	render := marks.Time(ctx, "render", slog.String("template", "order"))
	time.Sleep(part)
	step(ctx)
	render.End()
	note.entries.Add(1)
	_, send := tracer().Start(ctx, "send")
	time.Sleep(part)
	step(ctx)
	send.End()
	note.entries.Add(1)
}

const (
	marksOfRequest = 10_000
	marksAtOnce    = 100
	largeBytes     = 500_000
	streams        = 10_000
)

// manyMarks writes marks in groups, until the time is over.
func manyMarks(_ http.ResponseWriter, r *http.Request) {
	note, pause := recordOf(r.Context()), duration(r)/(marksOfRequest/marksAtOnce)
	for range marksOfRequest / marksAtOnce {
		for range marksAtOnce {
			n := note.steps.Load()
			marks.Mark(r.Context(), "step", slog.Int64("n", n))
			note.steps.Store(n + 1)
			note.entries.Add(1)
		}
		time.Sleep(pause)
	}
}

var large = strings.Repeat("x", largeBytes)

// largeSpan makes a child span of 500 KB.
func largeSpan(_ http.ResponseWriter, r *http.Request) {
	note := recordOf(r.Context())
	_, span := tracer().Start(r.Context(), "large",
		trace.WithAttributes(attribute.String("text", large)))
	time.Sleep(duration(r))
	span.End()
	note.entries.Add(1)
}

// stream answers until its client goes.
func stream(w http.ResponseWriter, r *http.Request) {
	bridgehttp.SetStream(r.Context())
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// die ends the process in a way that only the process itself can.
func die(_ http.ResponseWriter, r *http.Request) {
	marks.Mark(r.Context(), "dying")
	switch r.PathValue("how") {
	case "map":
		m := map[int]int{}
		for range 4 {
			go func() {
				for {
					m[1]++
				}
			}()
		}
	case "nil":
		var none *order
		go func() { none.total++ }()
	case "stack":
		go func() { overflow(0) }()
	case "memory":
		for {
			piece := make([]byte, 8<<20)
			for i := 0; i < len(piece); i += os.Getpagesize() {
				piece[i] = 1
			}
			leak = append(leak, piece)
		}
	case "exit":
		os.Exit(exitCode)
	case "fatal":
		log.Fatal("the program gives up")
	}
	select {} // the process ends
}

const exitCode = 3

// An order is what a handler expects to have.
type order struct{ total int }

// leak is what the garbage collector cannot free.
var leak [][]byte

// overflow calls itself with a large frame: the runtime copies as many bytes as with small ones,
// and fewer frames.
//
//go:noinline
func overflow(n int) int {
	var frame [1 << 10]byte
	frame[n%len(frame)] = byte(n)
	return overflow(n+1) + int(frame[(n+1)%len(frame)]) //nolint:staticcheck // has no end
}

// A callee has a call whose handler panics. gRPC does not recover.
type callee struct {
	healthpb.UnimplementedHealthServer

	truth *truth
}

func (c *callee) Check(ctx context.Context,
	_ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	note := c.truth.add(trace.SpanContextFromContext(ctx).TraceID())
	note.began.Store(c.truth.now())
	marks.Mark(ctx, "dying")
	panic("the handler of a call")
}
