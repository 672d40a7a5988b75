package bridgegrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// deadline is for what must happen; nothing waits for it to pass.
const deadline = 2 * time.Minute

type text = wrapperspb.StringValue

// A shop is the service of these tests: one method of each kind. A nil field is a
// method that echoes.
type shop struct {
	buy  func(context.Context, *text) (*text, error)
	list func(*text, grpc.ServerStream) error
	chat func(grpc.ServerStream) error
}

const (
	buy  = "shop.v1.Shop/Buy"  // unary
	list = "shop.v1.Shop/List" // the server streams
	chat = "shop.v1.Shop/Chat" // both do
)

var service = grpc.ServiceDesc{
	ServiceName: "shop.v1.Shop",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Buy", Handler: func(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := &text{}
		if err := decode(in); err != nil {
			return nil, err
		}
		if s := srv.(*shop); s.buy != nil {
			return s.buy(ctx, in)
		}
		return in, nil
	}}},
	Streams: []grpc.StreamDesc{
		{StreamName: "List", ServerStreams: true, Handler: func(srv any, stream grpc.ServerStream) error {
			in := &text{}
			if err := stream.RecvMsg(in); err != nil {
				return err
			}
			return srv.(*shop).list(in, stream)
		}},
		{StreamName: "Chat", ServerStreams: true, ClientStreams: true, Handler: func(srv any, stream grpc.ServerStream) error {
			if s := srv.(*shop); s.chat != nil {
				return s.chat(stream)
			}
			return echo(stream)
		}},
	},
}

func echo(stream grpc.ServerStream) error {
	for {
		in := &text{}
		if err := stream.RecvMsg(in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.SendMsg(in); err != nil {
			return err
		}
	}
}

// A rig is a server and a client of a shop on one process timeline, and what both
// leave behind. Its fields may be changed before start.
type rig struct {
	shop   shop
	server bridgegrpc.Server
	client bridgegrpc.Client
	// Before ours, and the rest.
	serverOptions []grpc.ServerOption
	clientOptions []grpc.DialOption

	network  *memnet.Network // in place of the machine's, for a rig in a bubble
	tl       *observer.Timeline
	provider bothproviders.Provider
	reader   *sdkmetric.ManualReader
	ctx      context.Context // of a caller with a timeline of its own
	conn     *grpc.ClientConn
	addr     string

	spans *tracetest.SpanRecorder
	stop  func() // ends both sides and waits for the handlers; idempotent

	observer *observer.Observer // of entries of all types

	mu      sync.Mutex // guards entries
	entries []observer.Entry
}

// newRig takes one sampler at most.
func newRig(t *testing.T, sampler ...sdktrace.Sampler) *rig {
	t.Helper()
	r := &rig{tl: observer.NewTimeline(observer.TimelineOptions{}), spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	r.provider = bothproviders.New(t, r.tl, append(sampler, nil)[0], r.spans)
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	r.server = bridgegrpc.Server{TracerProvider: r.provider, MeterProvider: meters, Propagators: propagation.TraceContext{}, Timeline: r.tl}
	r.client = bridgegrpc.Client{TracerProvider: r.provider, MeterProvider: meters, Propagators: propagation.TraceContext{}}
	var err error
	r.observer, err = r.tl.Observe(func(l observer.List) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.entries = append(r.entries, l.Entries()...)
	}, observer.Options{Types: observer.SupportedEntryTypes()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.observer.Disconnect)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	r.ctx = observer.NewContext(ctx, r.tl.NewChild())
	t.Cleanup(func() {
		if err := r.provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) start(t *testing.T) *rig {
	t.Helper()
	var lis net.Listener
	var err error
	if r.network != nil {
		lis = r.network.Listen()
	} else if lis, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	r.addr = lis.Addr().String()
	srv := grpc.NewServer(append(r.serverOptions, grpc.StatsHandler(r.server.Handler()), grpc.WaitForHandlers(true))...)
	srv.RegisterService(&service, &r.shop)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	r.conn, err = grpc.NewClient(r.addr, r.dial()...)
	if err != nil {
		t.Fatal(err)
	}
	r.stop = sync.OnceFunc(func() {
		if err := r.conn.Close(); err != nil {
			t.Error(err)
		}
		srv.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // it had not begun yet
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *rig) dial() []grpc.DialOption {
	return append(r.clientOptions, grpc.WithStatsHandler(r.client.Handler()), grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// buy makes a unary call.
func (r *rig) buy(ctx context.Context, what string, opts ...grpc.CallOption) (string, error) {
	out := &text{}
	err := r.conn.Invoke(ctx, "/"+buy, wrapperspb.String(what), out, opts...)
	return out.GetValue(), err
}

func (r *rig) stream(t *testing.T, ctx context.Context, method string) grpc.ClientStream {
	t.Helper()
	s, err := r.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: method == chat}, "/"+method)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// span finds the only span of that kind, after both sides have ended.
func (r *rig) span(t *testing.T, kind trace.SpanKind) sdktrace.ReadOnlySpan {
	t.Helper()
	all := r.spansOf(t, kind)
	if len(all) != 1 {
		t.Fatalf("%d spans of kind %v, want 1", len(all), kind)
	}
	return all[0]
}

func (r *rig) spansOf(t *testing.T, kind trace.SpanKind) (found []sdktrace.ReadOnlySpan) {
	t.Helper()
	r.stop()
	if err := r.provider.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.spans.Ended() {
		if s.SpanKind() == kind {
			found = append(found, s)
		}
	}
	return found
}

// entry finds the only entry of that type, after both sides have ended.
func (r *rig) entry(t *testing.T, typ observer.Type) observer.Entry {
	t.Helper()
	all := r.entriesOf(typ)
	if len(all) != 1 {
		t.Fatalf("%d entries of type %s, want 1: %v", len(all), typ, all)
	}
	return all[0]
}

func (r *rig) entriesOf(typ observer.Type) (found []observer.Entry) {
	r.stop()
	r.tl.Deliver()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if e.Type() == typ {
			found = append(found, e)
		}
	}
	return found
}

// points are a metric's data points, after both sides have ended.
func (r *rig) points(t *testing.T, name string) []metricdata.HistogramDataPoint[float64] {
	t.Helper()
	r.stop()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			if scope.Scope.Name != "github.com/perfline/perfline" || m.Unit != "s" {
				t.Errorf("metric %s of scope %s in %s", name, scope.Scope.Name, m.Unit)
			}
			return m.Data.(metricdata.Histogram[float64]).DataPoints
		}
	}
	return nil
}

// drift returns how far a span's times may be from the times of the timeline's entries. Encoded times are by the wall
// clock, which entries follow to the millisecond.
func drift() time.Duration {
	if bothproviders.Is(bothproviders.Perfline) {
		return time.Millisecond
	}
	return 0
}

// tags are a span's attributes as "key=value", in no order, ports left out.
func tags(s sdktrace.ReadOnlySpan) map[string]string {
	out := map[string]string{}
	for _, kv := range s.Attributes() {
		out[string(kv.Key)] = kv.Value.String()
	}
	return out
}

func attr(e observer.Entry, key string) (slog.Value, bool) {
	for _, a := range e.Detail() {
		if a.Key == key {
			return a.Value, true
		}
	}
	return slog.Value{}, false
}

func keys(e observer.Entry) string {
	var out []string
	for _, a := range e.Detail() {
		out = append(out, a.Key)
	}
	return strings.Join(out, " ")
}

func events(s sdktrace.ReadOnlySpan) string {
	var out []string
	for _, e := range s.Events() {
		out = append(out, e.Name)
	}
	return fmt.Sprint(out)
}

// foreign is another instrumentation's stats handler: it starts a span for every
// call, and takes the caller's from nowhere.
type foreign struct {
	stats.Handler
	tracer trace.Tracer
}

func (f foreign) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	ctx, _ = f.tracer.Start(ctx, "theirs", trace.WithSpanKind(trace.SpanKindServer))
	return ctx
}

func (f foreign) HandleRPC(ctx context.Context, e stats.RPCStats) {
	if _, ok := e.(*stats.End); ok {
		trace.SpanFromContext(ctx).End()
	}
}

func (foreign) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (foreign) HandleConn(context.Context, stats.ConnStats)                       {}
