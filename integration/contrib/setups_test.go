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
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
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
	"github.com/perfline/perfline/requests"
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
	others   string // instrumentation of others: "outside" perfline's, "inside", or none
	grpc     bool
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
	{"waits", (*outcome).waits}, {"span profiles", (*outcome).labels},
}

const (
	noPage = "– (`Start` has the page)"
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
	{name: "`NewProcessor`, otelhttp around the middleware", provider: processor, others: "outside",
		missing: map[string]string{"one request": noPage, "slow requests kept": noPage, "waits": noPage, "span profiles": wrap}},
	{name: "a no-op span in the request", between: "no-op"},
	{name: "an unsampled span of another provider in the request", between: "unsampled",
		missing: map[string]string{"measures and children": "measures; children of the span are dropped, and counted"}},
	{name: "a recording span of another provider in the request", between: "recording"},
	{name: "`Config.TracerProvider`, a no-op span in the request", provider: given, between: "no-op"},
}

// An outcome is what a program's backends and perfline have after a request.
type outcome struct {
	program
	route    string // or the method
	spans    []*tracepb.Span
	routes   map[string]string // of the metric of durations, by scope
	pl       *perfline.Pipeline
	result   *waits.Request
	labelled bool
}

func (o *outcome) servers() (all []*tracepb.Span) {
	for _, s := range o.spans {
		if s.GetKind() == tracepb.Span_SPAN_KIND_SERVER {
			all = append(all, s)
		}
	}
	return all
}

func (o *outcome) span(name string) *tracepb.Span {
	i := slices.IndexFunc(o.spans, func(s *tracepb.Span) bool { return s.GetName() == name })
	if i < 0 {
		return nil
	}
	return o.spans[i]
}

func (o *outcome) names() string {
	for _, s := range o.servers() {
		if s.GetName() != o.route {
			return fmt.Sprintf("a server span is named %q", s.GetName())
		}
	}
	return ""
}

func (o *outcome) metrics() string {
	if len(o.routes) == 0 {
		return "no metric"
	}
	for scope, route := range o.routes {
		if !strings.HasSuffix(o.route, route) || route == "" {
			return fmt.Sprintf("the metric of %s has the route %q", scope, route)
		}
	}
	return ""
}

func (o *outcome) oneRequest() string {
	if o.pl == nil {
		return noPage
	}
	if n := len(o.pl.Recent().Newest()); n != 1 {
		return fmt.Sprintf("%d requests", n)
	}
	if n := len(o.servers()); n != 1 {
		return "two server spans"
	}
	return ""
}

func (o *outcome) marks() string {
	for _, s := range o.servers() {
		for _, e := range s.GetEvents() {
			if e.GetName() == "mark" {
				return ""
			}
		}
	}
	return "the server span has no mark"
}

func (o *outcome) children() string {
	root := o.servers()[0]
	for _, name := range []string{"render", "query"} {
		s := o.span(name)
		switch {
		case s == nil && name == "query" && o.between == "unsampled" && o.pl.Stats().Bridge.SpansUnderUnsampled == 1:
			return o.missing["measures and children"]
		case s == nil:
			return "no span " + name
		case string(s.GetTraceId()) != string(root.GetTraceId()):
			return name + " is in another trace"
		}
	}
	if o.pl == nil {
		return ""
	}
	var b strings.Builder
	if err := requests.WriteWaterfall(&b, o.pl.Recent().Newest()[0], nil); err != nil {
		return err.Error()
	}
	for _, name := range []string{"render", "query", "mark"} {
		if !strings.Contains(b.String(), name) {
			return "the page lacks " + name
		}
	}
	return ""
}

func (o *outcome) kept() string {
	if o.pl == nil {
		return noPage
	}
	if kept := o.pl.Recent().Kept(); len(kept) != 1 || kept[0].Root().Keep != "slow" {
		return fmt.Sprintf("%d requests are kept", len(kept))
	}
	return ""
}

func (o *outcome) waits() string {
	switch {
	case o.pl == nil:
		return noPage
	case o.result == nil || o.result.Sentence() == "":
		return "no result"
	}
	return ""
}

func (o *outcome) labels() string {
	switch {
	case o.labelled:
		return ""
	case o.provider == processor:
		return wrap
	}
	return "no label"
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
			o := p.run(t)
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

// run serves a request of the program.
func (p program) run(t *testing.T) *outcome {
	o := &outcome{program: p, route: "GET /items/{id}"}
	got := &receiver{}
	reader := metric.NewManualReader()
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	defer func() { _ = meters.Shutdown(context.Background()) }()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	result := make(chan *waits.Request, 1)
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
		if between != nil {
			var span trace.Span
			ctx, span = between.Start(ctx, "between")
			defer span.End()
		}
		marks.Mark(ctx, "mark")
		marks.Time(ctx, "render").End()
		_, query := tp.Tracer("sql").Start(ctx, "query", trace.WithSpanKind(trace.SpanKindClient))
		query.End()
	}
	if p.grpc {
		o.route = "grpc.testing.TestService/EmptyCall"
		p.serveGRPC(t, tp, meters, tl, handle)
	} else {
		p.serveHTTP(t, tp, meters, tl, handle)
	}
	if o.pl != nil {
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

func (p program) serveHTTP(t *testing.T, tp trace.TracerProvider, meters *metric.MeterProvider, tl *observer.Timeline, handle func(context.Context)) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(_ http.ResponseWriter, r *http.Request) { handle(r.Context()) })
	middleware := bridgehttp.Server{TracerProvider: tp, MeterProvider: meters, Timeline: tl}.Middleware
	theirs := func(h http.Handler) http.Handler {
		return otelhttp.NewHandler(h, "server", otelhttp.WithTracerProvider(tp), otelhttp.WithMeterProvider(meters))
	}
	var h http.Handler = mux
	switch p.others {
	case "outside":
		h = theirs(middleware(h))
	case "inside":
		h = middleware(theirs(h))
	default:
		h = middleware(h)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/items/7", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// An echoServer answers empty calls.
type echoServer struct {
	pb.UnimplementedTestServiceServer
	handle func(context.Context)
}

func (s *echoServer) EmptyCall(ctx context.Context, _ *pb.Empty) (*pb.Empty, error) {
	s.handle(ctx)
	return &pb.Empty{}, nil
}

func (p program) serveGRPC(t *testing.T, tp trace.TracerProvider, meters *metric.MeterProvider, tl *observer.Timeline, handle func(context.Context)) {
	t.Helper()
	handlers := []stats.Handler{bridgegrpc.Server{TracerProvider: tp, MeterProvider: meters, Timeline: tl}.Handler()}
	theirs := otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(tp), otelgrpc.WithMeterProvider(meters))
	switch p.others {
	case "outside":
		handlers = slices.Insert(handlers, 0, theirs)
	case "inside":
		handlers = append(handlers, theirs)
	}
	var options []grpc.ServerOption
	for _, h := range handlers {
		options = append(options, grpc.StatsHandler(h))
	}
	srv := grpc.NewServer(options...)
	pb.RegisterTestServiceServer(srv, &echoServer{handle: handle})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pb.NewTestServiceClient(conn).EmptyCall(t.Context(), &pb.Empty{}); err != nil {
		t.Error(err)
	}
	_ = conn.Close()
	srv.GracefulStop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
