package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/lab/trial/internal/service"
)

const (
	lookEvery = 200 * time.Millisecond
	// recoverWithin is how long a service may take to recover. gRPC connects again after two
	// minutes at the latest.
	recoverWithin = 5 * time.Minute
)

// A row is a trial by its name.
type row struct {
	name  string
	part  string // of the document
	start start
	try   func(context.Context, *trial, settings) error
}

// run runs the trial, which ends before length and some times recoverWithin.
func (r row) run(ctx context.Context, set settings) *result {
	ctx, cancel := context.WithTimeout(ctx, max(set.total(), set.random)+3*recoverWithin)
	defer cancel()
	t := &trial{result: &result{name: r.name, part: r.part}, bench: &bench{}}
	defer func() { t.fail(t.bench.stop()) }()
	defer t.stop()
	err := r.start(ctx, t.bench)
	t.flows = t.bench.flows()
	if err == nil {
		err = r.try(ctx, t, set)
	}
	switch {
	case errors.Is(err, errNotMade):
		t.notMade = err
	case err != nil:
		for _, c := range t.bench.components {
			err = fmt.Errorf("%w; the log of %s ends with: %s", err, c.name, tail(c.process.Log()))
		}
		t.fail(err)
	}
	return t.result
}

// tail is the end of a log.
func tail(log string) string { return log[max(0, len(log)-1500):] }

// A trial is a service under a load that delivers to a bench.
type trial struct {
	*result
	bench   *bench
	process *service.Process
	load    *load.Load // nil when it has ended
	began   time.Time  // of the load
	samples []sample
	log     bytes.Buffer // of the service; complete when it has ended

	unbalanced bool // this was reported
}

// A sample is what the service used at one time.
type sample struct {
	at time.Duration // since the load began
	// bytes of the system, and live after the last garbage collection
	memory, memoryPeak, heap   uint64
	goroutines, goroutinesPeak int // without the goroutines of connections; with them
}

// A phase is what was seen in a part of the time.
type phase struct {
	requests       load.Results
	memory         uint64 // peak
	goroutines     int    // peak
	goroutinesIdle int    // the least, without the goroutines of connections
	last           service.Account
}

// begin starts the service and the load.
func (t *trial) begin(ctx context.Context, rate int, deadline time.Duration,
	env ...string) (err error) {
	env = append(append(env, "OTEL_SERVICE_NAME="+t.name), t.bench.env...)
	if t.process, err = service.Start(ctx,
		service.Config{Env: env, Deadline: deadline, Log: &t.log}); err != nil {
		return err
	}
	t.beginLoad(ctx, rate)
	t.began = time.Now()
	return nil
}

// beginLoad begins a load. Its failed requests count when it ends.
func (t *trial) beginLoad(ctx context.Context, rate int) {
	t.load = load.Requests(context.WithoutCancel(ctx), t.process.URL(), float64(rate))
}

// endLoad ends the load. Each request that failed makes the trial fail. A second call does nothing.
func (t *trial) endLoad() {
	if t.load == nil {
		return
	}
	t.load.Stop()
	total := t.load.Total()
	t.requests.Answered += total.Answered
	t.requests.Failed += total.Failed
	t.fail(total.Err())
	t.load = nil
}

// stop ends what is left after the trial.
func (t *trial) stop() {
	t.endLoad()
	if t.process != nil {
		t.fail(t.process.Kill())
	}
}

// look looks at the service until done reports true, or until ctx is over, which is an error. Books
// that do not balance are reported once.
func (t *trial) look(ctx context.Context, every time.Duration,
	done func(service.Account) bool) (service.Account, error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		a, err := t.process.Account(context.WithoutCancel(ctx))
		if err != nil {
			return a, err
		}
		at := time.Since(t.began)
		t.samples = append(t.samples,
			sample{at, a.Memory, a.MemoryPeak, a.LiveHeap, a.Goroutines - a.Connections,
				a.GoroutinesPeak})
		if err := a.CheckBalance(); err != nil && !t.unbalanced {
			t.unbalanced = true
			t.fail(fmt.Errorf("after %v: %w", at.Round(time.Millisecond), err))
		}
		if done(a) {
			return a, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return a, context.Cause(ctx)
		}
	}
}

// phase looks at the service until done reports true, and takes the load's results.
func (t *trial) phase(ctx context.Context, done func(service.Account) bool) (p phase, err error) {
	from := len(t.samples)
	p.last, err = t.look(ctx, lookEvery, done)
	for i, s := range t.samples[from:] {
		p.memory, p.goroutines = max(p.memory, s.memoryPeak), max(p.goroutines, s.goroutinesPeak)
		if i == 0 || s.goroutines < p.goroutinesIdle {
			p.goroutinesIdle = s.goroutines
		}
	}
	if t.load != nil {
		p.requests = t.load.Take()
	}
	return p, err
}

// phaseOf is a phase of that length.
func (t *trial) phaseOf(ctx context.Context, length time.Duration) (phase, error) {
	until := time.Now().Add(length)
	return t.phase(ctx, func(service.Account) bool { return !time.Now().Before(until) })
}

// recovers waits until done reports true, for at most recoverWithin. Its error begins with what.
func (t *trial) recovers(ctx context.Context, what string,
	done func(service.Account) bool) (service.Account, error) {
	within, cancel := context.WithTimeout(ctx, recoverWithin)
	defer cancel()
	began := time.Now()
	a, err := t.look(within, lookEvery, done)
	if err != nil {
		return a, fmt.Errorf("%s after %v: %w; counts are %+v", what,
			time.Since(began).Round(time.Second), err, a.Stats)
	}
	return a, nil
}
