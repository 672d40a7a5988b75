package main

import (
	"context"
	"crypto/sha256"
	"runtime"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
)

const (
	// workers are so many that a request gets a small share of one processor beside them.
	workers = 8

	// looksFor is how often prices looks for a change. The job has no other tie to the request: a
	// channel or a lock would make it part of what the request waits for.
	looksFor = time.Millisecond
)

// prices are recomputed by goroutines of no request, after a request has changed them.
type prices struct {
	epoch time.Time
	until atomic.Int64 // since epoch: how long they are recomputed
	sum   atomic.Uint32
}

// startPrices starts the job if a service has one processor. The job ends with ctx.
func startPrices(ctx context.Context) *prices {
	p := &prices{epoch: time.Now()}
	if runtime.GOMAXPROCS(0) == 1 {
		go p.watch(ctx)
	}
	return p
}

func (p *prices) watch(ctx context.Context) {
	changes := time.NewTicker(looksFor)
	defer changes.Stop()
	done := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes.C:
		}
		if until := p.until.Load(); until != done {
			done = until
			for range workers {
				go p.recompute(p.epoch.Add(time.Duration(until)))
			}
		}
	}
}

// recompute takes processors.
//
//go:noinline
func (p *prices) recompute(until time.Time) {
	var sum [sha256.Size]byte
	for time.Now().Before(until) {
		for range 200 {
			sum = sha256.Sum256(sum[:])
		}
	}
	p.sum.Add(uint32(sum[0]))
}

// quote computes while the processors are taken.
func (p *prices) quote(ctx context.Context, takes time.Duration) error {
	_, span := otel.Tracer("shop").Start(ctx, "prices.quote")
	defer span.End()
	until := time.Now().Add(takes)
	p.until.Store(int64(until.Sub(p.epoch)))
	p.total(until)
	return nil
}

//go:noinline
func (p *prices) total(until time.Time) {
	var sum [sha256.Size]byte
	for time.Now().Before(until) {
		for range 200 {
			sum = sha256.Sum256(sum[:])
		}
	}
	p.sum.Add(uint32(sum[0]))
}
