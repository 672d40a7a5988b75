package main

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/perfline/perfline/integration/load"
)

const (
	connections = 8  // of a sender, as so many services would have
	maxUnderWay = 64 // requests of a sender at a time, on all connections
)

// A sender sends batches to a server that takes OTLP over gRPC.
type sender struct {
	batch batch
	conns []*grpc.ClientConn
	sent  atomic.Uint64 // batches, in its life
}

func newSender(address string, b batch) (*sender, error) {
	s := &sender{batch: b}
	for range connections {
		c, err := grpc.NewClient("passthrough:///"+address,
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			s.close()
			return nil, err
		}
		s.conns = append(s.conns, c)
	}
	return s, nil
}

func (s *sender) close() {
	for _, c := range s.conns {
		_ = c.Close() // all requests have been answered
	}
}

// export sends a batch and waits for the answer.
func (s *sender) export(ctx context.Context) error {
	number := s.sent.Add(1)
	_, err := ptraceotlp.NewGRPCClient(s.conns[number%connections]).Export(ctx,
		s.batch.renewed(number))
	return err
}

// steadily sends so many spans a second for length, each batch when it is due, and returns when
// all are answered.
func (s *sender) steadily(ctx context.Context, spansPerSecond float64,
	length time.Duration) load.Results {
	during, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	return load.Start(during, load.Config{
		PerSecond: spansPerSecond / float64(s.batch.spans()), UnderWay: maxUnderWay,
		Do: func() error { return s.export(ctx) },
	}).Wait()
}
