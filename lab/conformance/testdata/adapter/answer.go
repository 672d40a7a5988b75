package adapter

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
)

// AfterStatus returns what perfline's sender makes of a gRPC receiver that answers with err: whether the request may be sent again, and after
// which delay.
func AfterStatus(err error) (retry bool, after time.Duration) {
	pipe := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, receiver{err: err})
	go func() { _ = server.Serve(pipe) }()
	defer server.Stop()
	return send(otlp.Config{Endpoint: "http://127.0.0.1:4317", Protocol: otlp.GRPC, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return pipe.DialContext(ctx)
	}})
}

// AfterHeader returns what perfline's sender makes of an HTTP receiver that answers 503 with these headers.
func AfterHeader(header http.Header) (retry bool, after time.Duration) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	return send(otlp.Config{Endpoint: server.URL, Protocol: otlp.HTTP})
}

func send(c otlp.Config) (retry bool, after time.Duration) {
	settings, err := otlp.Resolve(environ.NewReader(slog.Default()), c, otlp.Traces)
	if err != nil {
		panic(err)
	}
	sender, err := settings.Sender()
	if err != nil {
		panic(err)
	}
	defer func() { _ = sender.Close() }()
	answer := sender.Send(context.Background(), []byte{})
	return answer.Retry, answer.After
}

type receiver struct {
	collector.UnimplementedTraceServiceServer
	err error
}

func (r receiver) Export(context.Context, *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	return &collector.ExportTraceServiceResponse{}, r.err
}

// Target returns the target of gRPC that the options and the variables of the process give, or the error.
func Target(o Options) (target string) {
	o.With(func() {
		c := otlp.Config{Endpoint: o.Config.Endpoint, Protocol: o.Config.Protocol, Headers: o.Config.Headers}
		settings, err := otlp.Resolve(environ.NewReader(slog.Default()), c, otlp.Traces)
		if err != nil {
			target = err.Error()
			return
		}
		target = strings.TrimPrefix(settings.Target, "dns:///") // gRPC's default
	})
	return target
}

// Retry makes attempts by perfline's queue, until one succeeds, fails for good, timeout is over, or ctx ends. 0 means no timeout.
func Retry(ctx context.Context, timeout time.Duration, attempt func(context.Context) (err error, retry bool, after time.Duration)) error {
	q := queue.New(queue.Config[request]{What: "requests", To: "the receiver", Timeout: timeout, Logger: slog.New(slog.DiscardHandler),
		Send: func(ctx context.Context, _ []request) queue.Answer {
			err, retry, after := attempt(ctx)
			return queue.Answer{Err: err, Retry: retry, After: after}
		}})
	q.Add(request{})
	err := q.Flush(ctx)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = q.Shutdown(ended)
	return err
}

// A request is an item of a queue.
type request struct{}

func (request) Count() int   { return 1 }
func (request) Bytes() int   { return 1 }
func (request) Request() int { return 1 }
