package bridgegrpc_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

var unsampled = sdktrace.NeverSample()

// Another instrumentation's handler comes first: the call is its span's.
func TestUnderAnotherHandler(t *testing.T) {
	for _, c := range []struct {
		name    string
		sampler sdktrace.Sampler
		spans   int
	}{{"sampled", nil, 1}, {"not sampled", unsampled, 0}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.sampler)
			r.serverOptions = []grpc.ServerOption{grpc.StatsHandler(foreign{tracer: r.provider.Tracer("theirs")})}
			r.shop.buy = func(ctx context.Context, in *text) (*text, error) {
				marks.Mark(ctx, "in the handler")
				return in, nil
			}
			r.start(t)
			if _, err := r.buy(r.ctx, "tea"); err != nil {
				t.Fatal(err)
			}
			all := r.spansOf(t, trace.SpanKindServer)
			if len(all) != c.spans {
				t.Fatalf("%d server spans, want %d", len(all), c.spans)
			}
			if got := r.points(t, "rpc.server.call.duration"); len(got) != 0 {
				t.Errorf("their metrics are counted again: %s", outcomes(got))
			}
			e := r.entry(t, observer.Navigation)
			if e.Name() != buy || (*record.Timeline)(e.Timeline()).Parent() != (*record.Timeline)(r.tl) {
				t.Errorf("entry %v", e)
			}
			for _, s := range all {
				if s.Name() != "theirs" || events(s) != "[in the handler]" || !e.Time().Equal(s.StartTime()) {
					t.Errorf("span %q from %v with events %s; the entry is from %v", s.Name(), s.StartTime(), events(s), e.Time())
				}
			}
		})
	}
}

// A client's two handlers do not take each other's calls; of a server's the first
// serves.
func TestGivenTwice(t *testing.T) {
	r := newRig(t)
	r.serverOptions = []grpc.ServerOption{grpc.StatsHandler(r.server.Handler())}
	r.clientOptions = []grpc.DialOption{grpc.WithStatsHandler(r.client.Handler())}
	r.start(t)
	if _, err := r.buy(r.ctx, "tea"); err != nil {
		t.Fatal(err)
	}
	if clients, servers := len(r.spansOf(t, trace.SpanKindClient)), len(r.spansOf(t, trace.SpanKindServer)); clients != 2 || servers != 1 {
		t.Errorf("%d client spans and %d server spans ended, want 2 and 1", clients, servers)
	}
	if got := len(r.entriesOf(observer.Navigation)); got != 1 {
		t.Errorf("%d navigation entries, want 1", got)
	}
}

// grpc.Server is a handler of HTTP requests too, which have their span already.
func TestUnderMiddleware(t *testing.T) {
	r := newRig(t).start(t)
	srv := grpc.NewServer(grpc.StatsHandler(r.server.Handler()))
	srv.RegisterService(&service, &r.shop)
	handler := bridgehttp.Server{TracerProvider: r.provider, Propagators: propagation.TraceContext{}, Timeline: r.tl}.Middleware(srv)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	hs := &http.Server{Handler: handler, Protocols: &protocols}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(lis) }()
	if err := r.conn.Close(); err != nil {
		t.Fatal(err)
	}
	r.conn, err = grpc.NewClient(lis.Addr().String(), r.dial()...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.buy(r.ctx, "tea"); err != nil {
		t.Fatal(err)
	}
	r.stop()
	if err := hs.Shutdown(r.ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if s := r.span(t, trace.SpanKindServer); s.Name() != "POST" {
		t.Errorf("server span %q, want the middleware's", s.Name())
	}
	if e := r.entry(t, observer.Navigation); e.Name() != "/"+buy || (*record.Timeline)(e.Timeline()).Parent() != (*record.Timeline)(r.tl) {
		t.Errorf("entry %v, want the middleware's", e)
	}
}
