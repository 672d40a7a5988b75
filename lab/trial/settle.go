package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/lab/trial/internal/service"
)

const (
	// moreGoroutines is what may be more after a fault, for each signal: a request under way has
	// a second one, and so has a delivery. A connection to a backend has some. Connections of
	// clients are not counted.
	moreGoroutines = 4
	// moreHeap is what the live heap may be larger by after a fault: profiles and the most
	// recent requests grow while the service is young. Spans that a full queue still held
	// would be more.
	moreHeap = 8 << 20
)

// settle ends the load and then the service, and closes the books.
func (t *trial) settle(ctx context.Context, set settings, durable bool) error {
	t.endLoad()
	if _, err := t.quiet(ctx); err != nil {
		return err
	}
	p, err := t.phaseOf(ctx, lookEvery)
	if err != nil {
		return err
	}
	a, err := t.process.Collected(ctx)
	if err != nil {
		return err
	}
	t.heapAfter, t.goroutinesAfter = a.LiveHeap, p.goroutinesIdle
	if !set.short {
		t.checkLeft()
	}
	final, err := t.process.Terminate(ctx)
	if err != nil {
		return err
	}
	t.check(final)
	t.checkNothingPending(final)
	return t.compareAll(ctx, final, durable)
}

// checkLeft compares the goroutines and the heap after the fault with those before it.
func (t *trial) checkLeft() {
	before := t.healthy.goroutinesIdle
	if before == 0 {
		before = t.faulty.goroutinesIdle
	}
	if t.goroutinesAfter > before+moreGoroutines*len(t.flows) {
		t.fail(fmt.Errorf("%d goroutines are left that are not a connection's, %d before the fault",
			t.goroutinesAfter, before))
	}
	if t.heapAfter > t.heap+moreHeap {
		t.fail(fmt.Errorf("the live heap is %d bytes after the fault, %d before it", t.heapAfter,
			t.heap))
	}
}

// quiet waits until everything that was recorded is delivered or lost. No request may be under way.
func (t *trial) quiet(ctx context.Context) (service.Account, error) {
	a, err := t.recovers(ctx, "not all was delivered or lost", func(a service.Account) bool {
		return a.Pending() == 0 && a.CheckComplete(t.bench.spans, t.bench.logs) == nil
	})
	if err != nil {
		err = errors.Join(err, a.CheckComplete(t.bench.spans, t.bench.logs))
	}
	return a, err
}

// check compares the service's last account with itself, with what the load received, and with
// what Shutdown reported.
func (t *trial) check(final service.Final) {
	t.fail(final.CheckBalance())
	t.fail(final.CheckComplete(t.bench.spans, t.bench.logs))
	if int(final.Answered) != t.requests.Answered {
		t.fail(fmt.Errorf("the service answered %d requests, and %d answers arrived",
			final.Answered, t.requests.Answered))
	}
	t.fail(final.CheckLosses())
}

// checkNothingPending is of an end when all was well.
func (t *trial) checkNothingPending(final service.Final) {
	if n := final.Pending(); n > 0 {
		t.fail(fmt.Errorf("%d were given up at the end, when all was well", n))
	}
}

// compareAll compares what was counted of each signal with its backend.
func (t *trial) compareAll(ctx context.Context, final service.Final, durable bool) error {
	var err error
	for _, c := range t.bench.components {
		for _, f := range c.flows {
			if f.book = f.read(final.Stats); f.count != nil {
				err = errors.Join(err, t.compare(ctx, c, f, durable))
			}
		}
	}
	return err
}

// compare waits until the backend has what was counted as delivered: a Collector passes it on a
// moment later. The backend may have more: what was not answered, and what was sent twice and
// cannot be told apart.
func (t *trial) compare(ctx context.Context, c *component, f *flow, durable bool) error {
	patience := time.Minute
	if !durable { // what was lost never comes
		patience = 3 * time.Second
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	least, more := int(f.book.Delivered), int(f.book.Unanswered+f.book.Retries)
	err := backend.Poll(within, func() (bool, error) {
		var err error
		if f.arrived, err = f.arrivals(ctx, t.name); f.arrived < least {
			// a backend is busy for a while with counting
			waitUntil(within, time.Now().Add(lookEvery))
		}
		return f.arrived >= least, err
	})
	if err != nil && within.Err() == nil {
		return err
	}
	if f.arrived >= least && f.arrived <= least+more {
		return nil
	}
	text := fmt.Sprintf(
		"%d are at the backend, of %d that were counted as delivered and %d that may have arrived besides", f.arrived, least, more)
	if durable {
		return fmt.Errorf("%s: %s", f.what, text)
	}
	f.notes = append(f.notes, text)
	fmt.Fprintf(os.Stderr, "%s: %s: %s; the backend's log ends with: %s\n", t.name, f.what, text,
		tail(c.process.Log()))
	return nil
}
