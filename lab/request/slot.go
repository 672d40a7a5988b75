package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/perfline/perfline/lab/internal/otlp"
	"github.com/perfline/perfline/lab/internal/process"
	"github.com/perfline/perfline/lab/internal/response"
)

// A sample is what a request took, of one variant in one round.
type sample struct {
	cpu         float64 // nanoseconds, with the work in the background and garbage collection
	allocations float64
	bytes       float64 // allocated
	collections float64 // of garbage
	// bytes that the receiver read: from connections, or of encoded requests in memory
	wire float64
}

// A slot is a variant and a shape in operation, with its own set-up.
type slot struct {
	variant  variant
	shape    shape
	pipeline *pipeline
	load     *workload
	received *otlp.Receiver
	requests int64
}

// openSlot sets up the variant. Its spans are encoded and go to a receiver in memory.
func openSlot(ctx context.Context, v variant, s shape) (*slot, error) {
	o := &slot{variant: v, shape: s, received: &otlp.Receiver{}}
	var err error
	if o.pipeline, err = v.open(ctx, setting{sampler: s.sampler, memory: o.received}); err != nil {
		return nil, err
	}
	if o.load, err = s.open(v.instrumented()); err != nil {
		return nil, errors.Join(err, o.close(ctx))
	}
	return o, nil
}

// close checks that every span arrived, and takes the set-up down.
func (o *slot) close(ctx context.Context) error {
	var err error
	if o.load != nil && o.load.close != nil {
		err = o.load.close()
	}
	err = errors.Join(err, o.pipeline.shutdown(ctx))
	want := o.shape.spans * o.requests
	if o.variant.name == none {
		want = 0
	}
	if got := o.received.Spans(); err == nil && got != want {
		err = fmt.Errorf("%d spans arrived of %d requests, want %d", got, o.requests, want)
	}
	return err
}

// burst makes n requests on each processor and waits until their spans are delivered.
func (o *slot) burst(ctx context.Context, n int) error {
	var wg sync.WaitGroup
	procs := runtime.GOMAXPROCS(0)
	for range procs {
		wg.Go(func() {
			w := response.NewDiscard()
			for range n {
				w.Reset()
				o.load.handler.ServeHTTP(w, o.load.next())
			}
		})
	}
	wg.Wait()
	o.requests += int64(n * procs)
	return o.pipeline.flush(ctx)
}

// measure makes bursts for about the given length, after as many as warm it up.
func (o *slot) measure(ctx context.Context, length time.Duration, n int) (sample, error) {
	for range 2 {
		if err := o.burst(ctx, n); err != nil {
			return sample{}, err
		}
	}
	runtime.GC() // the memory of the slot before
	warm, before, read := o.requests, process.Used(), o.received.Bytes()
	for begin := time.Now(); o.requests == warm || time.Since(begin) < length; {
		if err := o.burst(ctx, n); err != nil {
			return sample{}, err
		}
	}
	got := perRequest(process.Used().Since(before), int(o.requests-warm))
	got.wire = float64(o.received.Bytes()-read) / float64(o.requests-warm)
	return got, nil
}

// take measures a variant once, in a set-up of its own.
func take(ctx context.Context, v variant, s shape, length time.Duration, n int) (sample, error) {
	o, err := openSlot(ctx, v, s)
	if err != nil {
		return sample{}, fmt.Errorf("%s, %s: %w", s.name, v.name, err)
	}
	got, err := o.measure(ctx, length, n)
	if err = errors.Join(err, o.close(ctx)); err != nil {
		return sample{}, fmt.Errorf("%s, %s: %w", s.name, v.name, err)
	}
	return got, nil
}
