package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// connections is how many a sender has, as that many services would; maxUnderWay is how
// many requests of it may be under way on all of them.
const (
	connections = 8
	maxUnderWay = 64
)

// A sender sends batches to a server that takes OTLP over gRPC.
type sender struct {
	batch *batch
	conns []*grpc.ClientConn
	sent  uint64 // batches, in its life
}

func newSender(address string, b *batch) (*sender, error) {
	s := &sender{batch: b}
	for range connections {
		c, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.ForceCodec(asIs{})))
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
		_ = c.Close() // what was sent has been answered
	}
}

// export sends a batch and waits for the answer.
func (s *sender) export(ctx context.Context, number uint64) error {
	request, answer := s.batch.renewed(number), encoded{}
	return s.conns[number%connections].Invoke(ctx, export, &request, &answer)
}

// sending is what became of the batches of a time.
type sending struct {
	batches   int // that were sent
	unsent    int // that were due, with so many under way that they could not be sent in time
	refused   int
	err       error           // one of the refusals
	latencies []time.Duration // of those taken, since they were due; sorted
}

// steadily sends so many spans a second for length, each batch when it is due whatever
// became of those before, and returns when all are answered. With maxUnderWay of them a
// batch waits; those that have waited until the end are not sent.
func (s *sender) steadily(ctx context.Context, spansPerSecond float64, length time.Duration) sending {
	interval := time.Duration(float64(s.batch.spans()) / spansPerSecond * float64(time.Second))
	var (
		requests sync.WaitGroup
		mu       sync.Mutex // guards r
		r        sending
	)
	slots := make(chan struct{}, maxUnderWay)
	for began, i := time.Now(), 0; ctx.Err() == nil; i++ {
		due := began.Add(time.Duration(i) * interval)
		if due.Sub(began) >= length {
			break
		}
		if !sleep(ctx, time.Until(due)) {
			break
		}
		if time.Since(began) > length {
			r.unsent = int((length - due.Sub(began)) / interval)
			break
		}
		slots <- struct{}{}
		s.sent++
		number := s.sent
		requests.Go(func() {
			err := s.export(ctx, number)
			<-slots
			mu.Lock()
			defer mu.Unlock()
			r.batches++
			if err != nil {
				r.refused++
				r.err = fmt.Errorf("a batch was refused: %w", err)
				return
			}
			r.latencies = append(r.latencies, time.Since(due))
		})
	}
	requests.Wait()
	slices.Sort(r.latencies)
	return r
}

// sleep waits, unless ctx is over.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// quantile is the q-th of sorted values; 0 of none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
