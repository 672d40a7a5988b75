package main

import (
	"context"
	"errors"
	"net"
	"sync"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // the Collector compresses with it
)

// A sink takes spans by OTLP over gRPC, counts them and forgets them.
type sink struct {
	ptraceotlp.UnimplementedGRPCServer
	server  *grpc.Server
	address string

	mu      sync.Mutex // guards what follows
	counts  counts
	largest ptrace.Traces // of all requests, the one with the most spans
}

// counts are of what a sink has taken.
type counts struct {
	spans    int
	requests int // spans of servers without a parent
	failed   int // of these, with an error
	bytes    int // in OTLP, not compressed
}

// startSink listens on a loopback port.
func startSink(ctx context.Context) (*sink, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{server: grpc.NewServer(grpc.MaxRecvMsgSize(16 << 20)), address: l.Addr().String(),
		largest: ptrace.NewTraces()}
	ptraceotlp.RegisterGRPCServer(s.server, s)
	go func() { _ = s.server.Serve(l) }() // it ends by stop
	return s, nil
}

// Export takes spans.
func (s *sink) Export(_ context.Context,
	request ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	traces := request.Traces()
	taken := counts{spans: traces.SpanCount(), bytes: encodedSize(traces)}
	for span := range spansOf(traces) {
		if span.Kind() == ptrace.SpanKindServer && span.ParentSpanID().IsEmpty() {
			taken.requests++
			if span.Status().Code() == ptrace.StatusCodeError {
				taken.failed++
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.spans += taken.spans
	s.counts.requests += taken.requests
	s.counts.failed += taken.failed
	s.counts.bytes += taken.bytes
	if taken.spans > s.largest.SpanCount() {
		s.largest = traces
	}
	return ptraceotlp.NewExportResponse(), nil
}

// taken returns the counts until now.
func (s *sink) taken() counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// batch is the request with the most spans.
func (s *sink) batch() (batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.largest.SpanCount() == 0 {
		return batch{}, errors.New("no spans have come that could be sent again")
	}
	return newBatch(s.largest), nil
}

func (s *sink) stop() { s.server.Stop() }
