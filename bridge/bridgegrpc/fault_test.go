package bridgegrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/observer"
)

// wires are the connections a client has dialled.
type wires struct {
	network memnet.Network
	mu      sync.Mutex // guards conns
	conns   []net.Conn
}

func (w *wires) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := w.network.Dial(ctx, "tcp", addr)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.conns = append(w.conns, conn)
	}
	return conn, err
}

func (w *wires) cut(t *testing.T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.conns {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A call that is under way ends on both sides, whatever happens to it.
func TestFaults(t *testing.T) {
	type fault struct {
		cancel context.CancelFunc
		wires  *wires
	}
	for _, c := range []struct {
		name           string
		answer         bool // the handler sends a message before
		happens        func(*testing.T, fault)
		timeout        time.Duration
		client, server string // status codes
	}{
		{"cancelled", false, func(_ *testing.T, f fault) { f.cancel() }, deadline, "CANCELLED", "CANCELLED"},
		{"cancelled after a message", true, func(_ *testing.T, f fault) { f.cancel() }, deadline, "CANCELLED", "CANCELLED"},
		{"deadline", false, func(*testing.T, fault) {}, time.Hour, "DEADLINE_EXCEEDED", ""},
		{"connection killed", false, func(t *testing.T, f fault) { f.wires.cut(t) }, deadline, "UNAVAILABLE", "CANCELLED"},
		{"connection killed after a message", true, func(t *testing.T, f fault) { f.wires.cut(t) }, deadline, "UNAVAILABLE", "CANCELLED"},
	} {
		test := func(t *testing.T, silent bool) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				w := &wires{}
				r.network = &w.network
				r.clientOptions = []grpc.DialOption{grpc.WithContextDialer(w.dial)}
				inHandler := make(chan struct{})
				atClient, ended := context.WithCancel(context.Background()) // ends when the client has the call's end
				defer ended()
				r.shop.chat = func(s grpc.ServerStream) error {
					if c.answer {
						if err := s.SendMsg(wrapperspb.String("one")); err != nil {
							return err
						}
					}
					close(inHandler)
					<-s.Context().Done()
					if silent {
						<-atClient.Done() // otherwise the server's timer for a deadline may be first, and the client gets OK
						return nil
					}
					return s.Context().Err()
				}
				r.start(t)
				ctx, cancel := context.WithTimeout(observer.NewContext(t.Context(), observer.FromContext(r.ctx)), c.timeout)
				defer cancel()
				s := r.stream(t, ctx, chat)
				if c.answer {
					if err := s.RecvMsg(&text{}); err != nil {
						t.Fatal(err)
					}
				}
				<-inHandler
				time.Sleep(time.Second)
				c.happens(t, fault{cancel, w})
				if err := s.RecvMsg(&text{}); err == nil {
					t.Error("the call went well")
				}
				ended()
				client, server := r.span(t, trace.SpanKindClient), r.span(t, trace.SpanKindServer)
				if got := tags(client)["rpc.response.status_code"]; got != c.client || client.Status().Code != codes.Error {
					t.Errorf("client: %s, status %v, want %s", got, client.Status(), c.client)
				}
				// Both sides have a timer for a deadline, and either may be first.
				want, open := []string{c.server}, c.server == ""
				if open {
					want = []string{"DEADLINE_EXCEEDED", "CANCELLED"}
				}
				if open && silent {
					want = append(want, "OK") // where the client's end arrives after the status was sent
				}
				got := tags(server)["rpc.response.status_code"]
				if !slices.Contains(want, got) {
					t.Errorf("server: %s, want %v", got, want)
				}
				if bad := server.Status().Code == codes.Error; bad != (got == "DEADLINE_EXCEEDED") {
					t.Errorf("server: span status %v of %s", server.Status(), got)
				}
				for _, typ := range []observer.Type{observer.Resource, observer.Navigation} {
					e := r.entry(t, typ)
					at, ok := attr(e, "responseStart")
					if typ == observer.Resource && ok != c.answer && !open {
						t.Errorf("resource: responseStart %v, want one: %v", at, c.answer)
					}
					if ok && at.Duration() > e.Duration() {
						t.Errorf("%s: responseStart %v is after the end, %v", typ, at, e.Duration())
					}
					took := time.Second
					if open {
						took = c.timeout
					}
					if end := moment(t, e, "responseEnd"); end != e.Duration() || end != took {
						t.Errorf("%s: responseEnd %v of %v", typ, end, e.Duration())
					}
				}
			})
		}
		t.Run(c.name, func(t *testing.T) { test(t, false) })
		t.Run(c.name+", and the handler tells nothing", func(t *testing.T) { test(t, true) })
	}
}

// A call that finds no server has an end and nothing else.
func TestNoServer(t *testing.T) {
	r := newRig(t).start(t)
	if err := r.conn.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.conn, err = grpc.NewClient("127.0.0.1:1", r.dial()...); err != nil { // no port that was free stays so
		t.Fatal(err)
	}
	if _, err := r.buy(r.ctx, "tea"); status.Code(err) != grpccodes.Unavailable {
		t.Fatalf("got %v", err)
	}
	if s := r.span(t, trace.SpanKindClient); s.Status().Code != codes.Error || tags(s)["error.type"] != "UNAVAILABLE" || tags(s)["server.address"] != "" {
		t.Errorf("status %v, attributes %v", s.Status(), tags(s))
	}
	if got := keys(r.entry(t, observer.Resource)); got != "initiatorType nextHopProtocol responseStatus responseEnd requestBodySize encodedBodySize decodedBodySize" {
		t.Errorf("attributes %s", got)
	}
}

// Calls that gRPC does not report have no span: see the package's comment.
func TestContextThatIsOver(t *testing.T) {
	r := newRig(t).start(t)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if _, err := r.buy(ctx, "tea"); status.Code(err) != grpccodes.Canceled {
		t.Fatalf("got %v", err)
	}
	if n := len(r.spansOf(t, trace.SpanKindClient)); n != 0 {
		t.Errorf("%d client spans: the package's comment says none", n)
	}
}

// Each attempt is a call.
func TestRetries(t *testing.T) {
	r := newRig(t)
	r.clientOptions = []grpc.DialOption{grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`)}
	var attempts atomic.Int32
	r.shop.buy = func(_ context.Context, in *text) (*text, error) {
		if attempts.Add(1) < 3 {
			return nil, status.Error(grpccodes.Unavailable, "not yet")
		}
		return in, nil
	}
	r.start(t)
	if _, err := r.buy(r.ctx, "tea"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range r.entriesOf(observer.Resource) {
		v, _ := attr(e, "responseStatus")
		got = append(got, v.String())
	}
	if fmt.Sprint(got) != "[UNAVAILABLE UNAVAILABLE OK]" {
		t.Errorf("resource entries %v", got)
	}
	for kind, n := range map[trace.SpanKind]int{trace.SpanKindClient: 3, trace.SpanKindServer: 3} {
		if spans := r.spansOf(t, kind); len(spans) != n {
			t.Errorf("%d spans of kind %v, want %d", len(spans), kind, n)
		}
	}
}

// The messages of many streams come and go at once; every one is counted.
func TestConcurrentStreams(t *testing.T) {
	const streams, messages, size = 16, 50, 102 // bytes of a message, with its tag and length
	r := newRig(t).start(t)
	var wg sync.WaitGroup
	for range streams {
		s := r.stream(t, r.ctx, chat)
		wg.Go(func() {
			for range messages {
				if err := s.SendMsg(wrapperspb.String(strings.Repeat("x", size-2))); err != nil {
					t.Error(err)
				}
			}
			if err := s.CloseSend(); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for n := 0; ; n++ {
				if err := s.RecvMsg(&text{}); errors.Is(err, io.EOF) {
					if n != messages {
						t.Errorf("%d messages came back, want %d", n, messages)
					}
					return
				} else if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, typ := range []observer.Type{observer.Resource, observer.Navigation} {
		all := r.entriesOf(typ)
		if len(all) != streams {
			t.Errorf("%d entries of type %s, want %d", len(all), typ, streams)
		}
		for _, e := range all {
			for _, key := range []string{"requestBodySize", "encodedBodySize", "decodedBodySize"} {
				if v, _ := attr(e, key); v.Int64() != messages*size {
					t.Errorf("%s: %s is %v, want %d", typ, key, v, messages*size)
				}
			}
		}
	}
	for _, side := range []string{"client", "server"} {
		want := fmt.Sprintf("[rpc.method=%s rpc.response.status_code=OK rpc.system.name=grpc] × %d\n", chat, streams)
		if got := outcomes(r.points(t, "rpc."+side+".call.duration")); got != want {
			t.Errorf("%s: %s", side, got)
		}
	}
}

// Methods that the server does not have are made up by clients.
func TestUnknownMethod(t *testing.T) {
	for _, c := range []struct{ name, path, method string }{
		{"service", "/no.such.v1.Service/Do", "no.such.v1.Service/Do"},
		{"method", "/shop.v1.Shop/Steal", "shop.v1.Shop/Steal"},
		{"not UTF-8", "/shop.v1.Shop/\xff", "shop.v1.Shop/\uFFFD"},
		{"long", "/shop.v1.Shop/" + strings.Repeat("x", 100_000), "shop.v1.Shop/" + strings.Repeat("x", 2<<10-len("shop.v1.Shop/…")) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t).start(t)
			err := r.conn.Invoke(r.ctx, c.path, wrapperspb.String("tea"), &text{})
			if status.Code(err) != grpccodes.Unimplemented {
				t.Fatalf("got %v", err)
			}
			s := r.span(t, trace.SpanKindServer)
			if got := tags(s); s.Name() != "grpc" || got["rpc.method"] != "_OTHER" || got["rpc.method_original"] != c.method || got["error.type"] != "UNIMPLEMENTED" || s.Status().Code != codes.Error {
				t.Errorf("span %q, status %v, attributes %v", s.Name(), s.Status(), got)
			}
			want := "[error.type=UNIMPLEMENTED rpc.method=_OTHER rpc.response.status_code=UNIMPLEMENTED rpc.system.name=grpc] × 1\n"
			if got := outcomes(r.points(t, "rpc.server.call.duration")); got != want {
				t.Errorf("server: %s", got)
			}
			e := r.entry(t, observer.Navigation)
			if code, _ := attr(e, "responseStatus"); e.Name() != c.method || code.String() != "UNIMPLEMENTED" {
				t.Errorf("entry %v, %v", e, code)
			}
			moment(t, e, "responseStart") // the answer is a trailer only
			moment(t, r.entry(t, observer.Resource), "responseStart")
			if s := r.span(t, trace.SpanKindClient); s.Name() != c.method {
				t.Errorf("client span %q", s.Name())
			}
		})
	}
}

// Where another instrumentation has the span, it is left as it is.
func TestUnknownMethodUnderAnotherHandler(t *testing.T) {
	r := newRig(t)
	theirs := foreign{tracer: r.provider.Tracer("theirs")}
	r.serverOptions = []grpc.ServerOption{grpc.StatsHandler(theirs)}
	r.start(t)
	if err := r.conn.Invoke(r.ctx, "/no.such.v1.Service/Do", wrapperspb.String("tea"), &text{}); status.Code(err) != grpccodes.Unimplemented {
		t.Fatalf("got %v", err)
	}
	r.entry(t, observer.Navigation)
	if n := len(r.spansOf(t, trace.SpanKindServer)); n != 0 {
		t.Errorf("%d server spans ended: theirs gets no End", n)
	}
}

// A handler of unknown services has every method.
func TestUnknownServiceHandler(t *testing.T) {
	r := newRig(t)
	r.serverOptions = []grpc.ServerOption{grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error { return echo(s) })}
	r.start(t)
	if err := r.conn.Invoke(r.ctx, "/any.v1.Service/Do", wrapperspb.String("tea"), &text{}); err != nil {
		t.Fatal(err)
	}
	if s := r.span(t, trace.SpanKindServer); s.Name() != "any.v1.Service/Do" || tags(s)["rpc.response.status_code"] != "OK" {
		t.Errorf("span %q, %v", s.Name(), tags(s))
	}
}

// The zero values work with the global providers, which do nothing here.
func TestZeroValues(t *testing.T) {
	r := newRig(t)
	r.server, r.client = bridgegrpc.Server{Timeline: r.tl}, bridgegrpc.Client{}
	r.start(t)
	if got, err := r.buy(r.ctx, "tea"); err != nil || got != "tea" {
		t.Errorf("got %q, %v", got, err)
	}
	r.entry(t, observer.Navigation)
	r.entry(t, observer.Resource)
}
