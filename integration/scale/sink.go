package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // what the Collector compresses with
)

// A sink takes spans by OTLP over gRPC, counts them and forgets them.
type sink struct {
	server  *grpc.Server
	address string
	spans   atomic.Int64
	bytes   atomic.Int64 // of requests, not compressed

	mu      sync.Mutex // guards what follows
	largest []byte     // of the requests, that with the most spans, while keep is set
	most    int
	keep    bool
}

// startSink listens on a loopback port. With keep it remembers the request with the most
// spans.
func startSink(ctx context.Context, keep bool) (*sink, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{server: grpc.NewServer(grpc.ForceServerCodec(asIs{}), grpc.MaxRecvMsgSize(16<<20)), address: l.Addr().String(), keep: keep}
	s.server.RegisterService(serveExport(s.take), nil)
	go func() { _ = s.server.Serve(l) }() // it ends by stop
	return s, nil
}

func (s *sink) take(request []byte) error {
	ids, err := traceIDs(request)
	if err != nil {
		return err
	}
	s.spans.Add(int64(len(ids)))
	s.bytes.Add(int64(len(request)))
	if s.keep {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(ids) > s.most {
			s.most, s.largest = len(ids), request
		}
	}
	return nil
}

// batch is the request with the most spans of those taken.
func (s *sink) batch() (*batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.largest == nil {
		return nil, errors.New("no spans have come that could be sent again")
	}
	b, err := newBatch(s.largest)
	if err != nil {
		return nil, fmt.Errorf("of what came: %w", err)
	}
	return b, nil
}

func (s *sink) stop() { s.server.Stop() }
