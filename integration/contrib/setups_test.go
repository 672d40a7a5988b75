package contrib_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight"
)

var updateSetups = flag.Bool("setups", false, "write the table of set-ups in docs/setups.md")

// The providers of the set-ups.
const (
	ours      = iota // perfline.Start makes the provider
	given            // Config.TracerProvider has one of the SDK
	processor        // the SDK's provider has a bridge.Processor, and nothing else is perfline's
)

// A program is one set-up of a service.
type program struct {
	name     string
	provider int
	others   string // instrumentation of others: "outside" perfline's, "inside", "alone" or none
	grpc     bool
	gateway  bool   // the HTTP request calls the gRPC server of the same process
	between  string // a span of another package between the request's span and its children: "no-op", "unsampled", "recording" or none
	missing  map[string]string
}

// What a service has of perfline, in the order of the table's columns.
var features = []struct {
	name  string
	works func(*outcome) string // "" if it works
}{
	{"names and routes", (*outcome).names}, {"metrics", (*outcome).metrics}, {"one request", (*outcome).oneRequest},
	{"marks", (*outcome).marks}, {"measures and children", (*outcome).children}, {"slow requests kept", (*outcome).kept},
	{"waits", (*outcome).waits}, {"span profiles", (*outcome).labels}, {"black box", (*outcome).boxed},
}

const (
	noPage = "– (`Start` has the page)"
	noBox  = "– (`Start` has it)"
	wrap   = "with `WrapTracerProvider`"
)

var programs = []program{
	{name: "`perfline.Start`, `bridgehttp.Middleware`"},
	{name: "otelhttp around the middleware", others: "outside"},
	{name: "the middleware around otelhttp", others: "inside", missing: map[string]string{"one request": "two server spans"}},
	{name: "`perfline.Start`, `bridgegrpc`", grpc: true},
	{name: "otelgrpc before bridgegrpc", grpc: true, others: "outside"},
	{name: "bridgegrpc before otelgrpc", grpc: true, others: "inside", missing: map[string]string{"one request": "two server spans"}},
	{name: "`Config.TracerProvider`, the middleware", provider: given},
	{name: "`Config.TracerProvider`, otelhttp around the middleware", provider: given, others: "outside"},
	{name: "`Config.TracerProvider`, otelgrpc before bridgegrpc", provider: given, grpc: true, others: "outside"},
	{name: "`Config.TracerProvider`, bridgegrpc before otelgrpc", provider: given, grpc: true, others: "inside",
		missing: map[string]string{"one request": "2 requests", "slow requests kept": "2 requests are kept"}},
	{name: "`Config.TracerProvider`, otelhttp alone", provider: given, others: "alone"},
	{name: "`Config.TracerProvider`, otelgrpc alone", provider: given, grpc: true, others: "alone"},
	{name: "a gateway to a gRPC server of the same process", gateway: true},
	{name: "`Config.TracerProvider`, such a gateway", provider: given, gateway: true,
		missing: map[string]string{"one request": "2 requests", "slow requests kept": "2 requests are kept"}},
	{name: "`NewProcessor`, otelhttp around the middleware", provider: processor, others: "outside",
		missing: map[string]string{"one request": noPage, "slow requests kept": noPage, "waits": noPage, "span profiles": wrap, "black box": noBox}},
	{name: "a no-op span in the request", between: "no-op"},
	{name: "an unsampled span of another provider in the request", between: "unsampled",
		missing: map[string]string{
			"measures and children": "measures; children of the span are dropped, and counted",
			"waits":                 "yes; a call of a dropped span is the network",
		}},
	{name: "a recording span of another provider in the request", between: "recording"},
	{name: "`Config.TracerProvider`, a no-op span in the request", provider: given, between: "no-op"},
}

// Each feature works in each set-up, or the table of docs/setups.md says why not. The libraries, the flight recorder and the network are real.
func TestSetups(t *testing.T) {
	var table strings.Builder
	table.WriteString("| set-up |")
	for _, f := range features {
		fmt.Fprintf(&table, " %s |", f.name)
	}
	table.WriteString("\n|" + strings.Repeat("---|", len(features)+1) + "\n")
	for _, p := range programs {
		fmt.Fprintf(&table, "| %s |", p.name)
		t.Run(p.name, func(t *testing.T) {
			o := p.run(t, 0)
			for d := time.Millisecond; d <= time.Second; d *= 10 { // a machine that stops the process for longer than the rest is the cause itself
				if o.result = p.run(t, d).result; o.waits() == p.missing["waits"] {
					break
				}
			}
			for _, f := range features {
				t.Run(f.name, func(t *testing.T) {
					if got := f.works(o); got != p.missing[f.name] {
						t.Errorf("%q, want %q", got, p.missing[f.name])
					}
				})
				if missing := p.missing[f.name]; missing != "" {
					fmt.Fprintf(&table, " %s |", missing)
				} else {
					table.WriteString(" yes |")
				}
			}
		})
		table.WriteByte('\n')
	}
	const file, begin, end = "../../docs/setups.md", "<!-- set-ups -->\n\n", "\n<!-- /set-ups -->"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", file)
	}
	want := before + begin + table.String() + end + after
	if *updateSetups {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	} else if string(data) != want {
		t.Errorf("%s has another table: go test -C integration ./contrib -run Setups -setups", file)
	}
}

// run serves a request of the program. With a duration, the request waits for a goroutine of its own and for a call into the same process, and each rests so long.
func (p program) run(t *testing.T, d time.Duration) *outcome {
	o := &outcome{program: p, inner: "GET /inner"}
	if !p.grpc {
		o.served = append(o.served, "GET /items/{id}")
	}
	if p.grpc || p.gateway {
		o.served, o.inner = append(o.served, "grpc.testing.TestService/EmptyCall"), "grpc.testing.TestService/UnaryCall"
	}
	got := &receiver{}
	reader := metric.NewManualReader()
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	defer func() { _ = meters.Shutdown(context.Background()) }()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	if p.others == "alone" {
		tl = observer.ProcessTimeline() // no middleware passes another one on
	}
	result := make(chan *waits.Request, 10)
	c := perfline.Config{
		Service: "shop", Timeline: tl, Traces: exporter.Config{Sender: got}, Keep: bridge.KeepPolicy{Slow: 1},
		Waits: flight.NewRecorder(flight.Config{Armed: true, MinInterval: -1}),
	}
	c.Waits.Watch(func(_ bridge.Root, r *waits.Request) { result <- r })
	var tp trace.TracerProvider
	var flush func(context.Context) error
	if p.provider != ours {
		sdk := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())))
		defer func() { _ = sdk.Shutdown(context.Background()) }()
		if p.provider == processor {
			d, err := exporter.NewDelivery(c.Traces)
			if err != nil {
				t.Fatal(err)
			}
			sdk.RegisterSpanProcessor(d)
			sdk.RegisterSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl, TracerProvider: sdk}))
			tp, flush = sdk, sdk.ForceFlush
		} else {
			c.TracerProvider = sdk
		}
	}
	if d == 0 {
		c.BlackBox = t.TempDir()
	}
	if p.provider != processor {
		pl, err := perfline.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = pl.Shutdown(context.Background()) }()
		o.pl, tp, flush = pl, pl.TracerProvider(), pl.Flush
	}
	release := profiling.HoldLabels(profiling.EverySpan)
	defer release()

	between := others(t, p.between)
	handle := func(ctx context.Context) {
		if label := spanlabels.Innermost(); label != nil {
			o.labelled = label.TraceID() == trace.SpanContextFromContext(ctx).TraceID()
		}
		marks.Mark(ctx, "mark")
		marks.Time(ctx, "render").End()
		_, query := tp.Tracer("sql").Start(ctx, "query", trace.WithSpanKind(trace.SpanKindClient))
		if o.pl != nil && c.BlackBox != "" {
			o.open = openRequests(t, c.BlackBox)
		}
		query.End()
	}
	h := handlers{
		request: func(ctx context.Context, call func(context.Context)) {
			if between != nil {
				var span trace.Span
				ctx, span = between.Start(ctx, "between")
				defer span.End()
			}
			if d > 0 {
				part(ctx, tp, d)
				call(ctx)
			} else {
				handle(ctx)
			}
		},
		inner: func(ctx context.Context) { part(ctx, tp, d) },
	}
	switch {
	case p.gateway:
		outer := handlers{request: func(ctx context.Context, _ func(context.Context)) { p.serveGRPC(ctx, t, tp, meters, tl, h) }}
		p.serveHTTP(t, tp, meters, tl, outer)
	case p.grpc:
		p.serveGRPC(t.Context(), t, tp, meters, tl, h)
	default:
		p.serveHTTP(t, tp, meters, tl, h)
	}
	for o.pl != nil && (o.result == nil || o.result.Name != o.served[0]) {
		o.result = <-result
	}
	if err := flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, rs := range got.sent {
		for _, ss := range rs.GetScopeSpans() {
			o.spans = append(o.spans, ss.GetSpans()...)
		}
	}
	o.routes = routesOf(t, reader)
	return o
}

// handlers are the code of a service: of the request, which may call the service itself, and of this call.
type handlers struct {
	request func(ctx context.Context, call func(context.Context))
	inner   func(context.Context)
}

// part waits for a goroutine with a span, which rests.
func part(ctx context.Context, tp trace.TracerProvider, d time.Duration) {
	var children sync.WaitGroup
	children.Go(func() {
		_, span := tp.Tracer("shop").Start(ctx, "part")
		defer span.End()
		rest(d)
	})
	children.Wait()
}

//go:noinline
func rest(d time.Duration) { time.Sleep(d) } // the wait of the sentence

func others(t *testing.T, between string) trace.Tracer {
	t.Helper()
	sampler := sdktrace.AlwaysSample()
	switch between {
	case "":
		return nil
	case "no-op":
		return noop.NewTracerProvider().Tracer("off")
	case "unsampled":
		sampler = sdktrace.NeverSample()
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler))
	t.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	return tp.Tracer("other")
}

// routesOf returns the routes, or methods, of the metrics of durations, by scope.
func routesOf(t *testing.T, reader *metric.ManualReader) map[string]string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	routes := map[string]string{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			points, ok := m.Data.(metricdata.Histogram[float64])
			if !ok || m.Name != "http.server.request.duration" && m.Name != "rpc.server.call.duration" {
				continue
			}
			for _, p := range points.DataPoints {
				route, _ := p.Attributes.Value(semconv.HTTPRouteKey)
				if method, ok := p.Attributes.Value(semconv.RPCMethodKey); ok {
					route = method
				}
				routes[s.Scope.Name] = route.AsString()
			}
		}
	}
	return routes
}

func (p program) serveHTTP(t *testing.T, tp trace.TracerProvider, meters *metric.MeterProvider, tl *observer.Timeline, handle handlers) {
	t.Helper()
	client := http.Client{Transport: bridgehttp.Client{TracerProvider: tp, MeterProvider: meters, Propagators: propagation.TraceContext{}}.Transport(nil)}
	defer client.CloseIdleConnections()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(_ http.ResponseWriter, r *http.Request) {
		handle.request(r.Context(), func(ctx context.Context) { get(ctx, t, &client, "http://"+r.Host+"/inner", "") })
	})
	mux.HandleFunc("GET /inner", func(_ http.ResponseWriter, r *http.Request) { handle.inner(r.Context()) })
	middleware := bridgehttp.Server{TracerProvider: tp, MeterProvider: meters, Timeline: tl, Propagators: propagation.TraceContext{}}.Middleware
	theirs := func(h http.Handler) http.Handler {
		return otelhttp.NewHandler(h, "server", otelhttp.WithTracerProvider(tp), otelhttp.WithMeterProvider(meters), otelhttp.WithPropagators(propagation.TraceContext{}))
	}
	var h http.Handler = mux
	switch p.others {
	case "outside":
		h = theirs(middleware(h))
	case "inside":
		h = middleware(theirs(h))
	case "alone":
		h = theirs(h)
	default:
		h = middleware(h)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	get(t.Context(), t, srv.Client(), srv.URL+"/items/7", gateway)
}

func get(ctx context.Context, t *testing.T, client *http.Client, url, traceparent string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Error(err)
		return
	}
	if traceparent != "" {
		req.Header.Set("Traceparent", traceparent)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	_ = resp.Body.Close()
}

// gateway is the caller of the request, in another process.
const gateway = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// An echoServer answers empty calls, which may call the server itself.
type echoServer struct {
	pb.UnimplementedTestServiceServer
	handlers
	client pb.TestServiceClient
}

func (s *echoServer) EmptyCall(ctx context.Context, _ *pb.Empty) (answer *pb.Empty, err error) {
	s.request(ctx, func(ctx context.Context) { _, err = s.client.UnaryCall(ctx, &pb.SimpleRequest{}) })
	return &pb.Empty{}, err
}

func (s *echoServer) UnaryCall(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	s.inner(ctx)
	return &pb.SimpleResponse{}, nil
}

func (p program) serveGRPC(ctx context.Context, t *testing.T, tp trace.TracerProvider, meters *metric.MeterProvider, tl *observer.Timeline, handle handlers) {
	t.Helper()
	servers := []stats.Handler{bridgegrpc.Server{TracerProvider: tp, MeterProvider: meters, Timeline: tl, Propagators: propagation.TraceContext{}}.Handler()}
	client := bridgegrpc.Client{TracerProvider: tp, MeterProvider: meters, Propagators: propagation.TraceContext{}}.Handler()
	providers := []otelgrpc.Option{otelgrpc.WithTracerProvider(tp), otelgrpc.WithMeterProvider(meters), otelgrpc.WithPropagators(propagation.TraceContext{})}
	theirs := otelgrpc.NewServerHandler(providers...)
	switch p.others {
	case "outside":
		servers = slices.Insert(servers, 0, theirs)
		client = otelgrpc.NewClientHandler(providers...)
	case "inside":
		servers = append(servers, theirs)
	case "alone":
		servers[0] = theirs
	}
	var options []grpc.ServerOption
	for _, h := range servers {
		options = append(options, grpc.StatsHandler(h))
	}
	srv := grpc.NewServer(options...)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return
	}
	connect := func(options ...grpc.DialOption) *grpc.ClientConn {
		conn, err := grpc.NewClient(lis.Addr().String(), append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			panic(err) // the options are wrong
		}
		return conn
	}
	instrumented := grpc.WithStatsHandler(client)
	inner, dial := connect(instrumented), []grpc.DialOption{}
	if p.gateway {
		dial = append(dial, instrumented)
	}
	conn := connect(dial...)
	pb.RegisterTestServiceServer(srv, &echoServer{handlers: handle, client: pb.NewTestServiceClient(inner)})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	if !p.gateway {
		ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", gateway)
	}
	if _, err := pb.NewTestServiceClient(conn).EmptyCall(ctx, &pb.Empty{}); err != nil {
		t.Error(err)
	}
	_, _ = conn.Close(), inner.Close()
	srv.GracefulStop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
