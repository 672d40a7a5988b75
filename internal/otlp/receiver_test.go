package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	coltracepb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/queue"
)

// requestOf returns a request of OTLP with a span of so many bytes.
func requestOf(t *testing.T, size int) []byte {
	t.Helper()
	body, err := proto.Marshal(&coltracepb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: string(bytes.Repeat([]byte("s"), size))}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// newSender returns a sender whose attempts have no deadline in real time.
func newSender(t *testing.T, s *Settings) *Sender {
	t.Helper()
	s.Timeout = 0
	return newSenderInTime(t, s)
}

func newSenderInTime(t *testing.T, s *Settings) *Sender {
	t.Helper()
	sender, err := s.Sender()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sender.Close(); err != nil {
			t.Error(err)
		}
	})
	return sender
}

// senderTo returns a sender of traces to an endpoint.
func senderTo(t *testing.T, protocol, endpoint string) *Sender {
	t.Helper()
	return newSender(t, resolve(t, Config{Endpoint: endpoint, Protocol: protocol}))
}

// A grpcReceiver is a receiver of traces over gRPC.
type grpcReceiver struct {
	export func(context.Context, *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error)
}

// traceService is the service of OTLP's definitions. The generated one would bring grpc-gateway into the go.sum of users.
var traceService = grpc.ServiceDesc{
	ServiceName: "opentelemetry.proto.collector.trace.v1.TraceService",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Export",
		Handler: func(r any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			q := new(coltracepb.ExportTraceServiceRequest)
			if err := decode(q); err != nil {
				return nil, err
			}
			return r.(*grpcReceiver).export(ctx, q)
		},
	}},
}

// serveGRPC serves on listener, or on one of its own, and returns where.
func serveGRPC(t *testing.T, r *grpcReceiver, listener net.Listener, secured *tls.Config) string {
	t.Helper()
	scheme := "http://"
	var options []grpc.ServerOption
	if secured != nil {
		scheme = "https://"
		options = append(options, grpc.Creds(credentials.NewTLS(secured)))
	}
	if listener == nil {
		listener = listen(t)
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&traceService, r)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return scheme + listener.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveHTTP serves over HTTP/1 and HTTP/2, with TLS if secured, and returns where.
func serveHTTP(t *testing.T, handle http.HandlerFunc, secured *tls.Config) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handle)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.EnableHTTP2 = true
	if secured != nil {
		server.TLS = secured
		server.StartTLS()
	} else {
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true) // gRPC's
		server.Start()
	}
	t.Cleanup(server.Close)
	return server.URL
}

// refused returns an address where nothing listens. Its port belongs to a connection until the test ends, so that no other program
// gets it.
func refused(t *testing.T) string {
	t.Helper()
	l := listen(t)
	t.Cleanup(func() { _ = l.Close() })
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return "http://" + conn.LocalAddr().String()
}

// decoded returns the request in the body of r, unpacked.
func decoded(t *testing.T, r *http.Request) *coltracepb.ExportTraceServiceRequest {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	q := new(coltracepb.ExportTraceServiceRequest)
	if err == nil {
		err = proto.Unmarshal(body, q)
	}
	if err != nil {
		t.Error(err)
	}
	return q
}

// equalMessage reports whether body is q.
func equalMessage(t *testing.T, body []byte, q proto.Message) bool {
	t.Helper()
	want := new(coltracepb.ExportTraceServiceRequest)
	if err := proto.Unmarshal(body, want); err != nil {
		t.Fatal(err)
	}
	return proto.Equal(q, want)
}

// check compares an answer with what it must be. An error must have want's text in it.
func check(t *testing.T, got queue.Answer, want queue.Answer, says string) {
	t.Helper()
	if (got.Err != nil) != (says != "") || got.Err != nil && !bytes.Contains([]byte(got.Err.Error()), []byte(says)) {
		t.Errorf("the error is %v, want %q", got.Err, says)
	}
	got.Err = nil
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
