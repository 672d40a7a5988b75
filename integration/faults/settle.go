package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/trial"
)

// settle ends the load and then the service, and closes the books.
func (t *trialled) settle(ctx context.Context, f fault) error {
	t.endLoad()
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, recoverWithin)
	defer cancel()
	p, err := t.watch(within, func(a trial.Account) bool {
		return t.subject.book(a.Stats).Pending <= pendingWhenQuiet(t.subject) && a.Complete(t.subject.spans) == nil
	})
	if err != nil || within.Err() != nil {
		return fmt.Errorf("not all was delivered or lost %v after the load: %w; counts are %+v",
			time.Since(began).Round(time.Second), errors.Join(err, within.Err(), p.last.Complete(t.subject.spans)), p.last.Stats)
	}
	a, err := t.service.Collected(ctx)
	if err != nil {
		return err
	}
	t.heapAfter, t.goroutinesAfter = a.LiveHeap, p.goroutinesIdle
	if before := t.base().goroutinesIdle; t.goroutinesAfter > before+moreGoroutines {
		t.fail(fmt.Errorf("%d goroutines are left that are not a connection's, %d before the fault", t.goroutinesAfter, before))
	}
	if t.heapAfter > t.heap+moreHeap {
		t.fail(fmt.Errorf("the live heap is %d bytes after the fault, %d before it", t.heapAfter, t.heap))
	}
	return t.close(ctx, f.durable)
}

// base is the phase that what comes after is compared with.
func (t *trialled) base() phase {
	if t.healthy.goroutinesIdle == 0 {
		return t.faulty
	}
	return t.healthy
}

// pendingWhenQuiet is what may wait when nothing is recorded any more: profiles are taken
// all the time, and one round of them is under way now and then.
func pendingWhenQuiet(s *subject) uint64 {
	if s.spans {
		return 0
	}
	return 3
}

// close ends the service, when all is well, and compares its last account with what has
// arrived.
func (t *trialled) close(ctx context.Context, durable bool) error {
	final, err := t.service.Terminate(ctx)
	if err != nil {
		return err
	}
	t.hold(final)
	if t.book.Pending > 0 {
		t.fail(fmt.Errorf("%d were given up at the end, when all was well", t.book.Pending))
	}
	return t.compare(ctx, durable)
}

// hold holds the service's last account against itself, against what the load has had of
// the service, and against what Shutdown told.
func (t *trialled) hold(final trial.Final) {
	t.fail(final.Balanced())
	t.fail(final.Complete(t.subject.spans))
	if int(final.Answered) != t.requests.Answered {
		t.fail(fmt.Errorf("the service answered %d requests, and %d answers arrived", final.Answered, t.requests.Answered))
	}
	t.fail(final.Told())
	t.book = t.subject.book(final.Stats)
}

// compare waits until the backend has what was counted as delivered: a Collector passes
// it on a moment later. It may have more: what was not answered, and what was sent twice
// and cannot be told apart.
func (t *trialled) compare(ctx context.Context, durable bool) error {
	patience := 20 * time.Second
	if !durable { // what was lost never comes
		patience = 5 * time.Second
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	least, most := int(t.book.Delivered), int(t.book.Delivered+t.book.Perhaps+t.book.Again)
	err := backend.Poll(within, func() (bool, error) {
		var err error
		t.found, err = t.subject.arrived(ctx)
		return t.found >= least, err
	})
	if err != nil && within.Err() == nil {
		return err
	}
	if t.found >= least && t.found <= most {
		return nil
	}
	text := fmt.Sprintf("%d are at the backend, of %d that were counted as delivered and %d that may have arrived besides", t.found, least, most-least)
	if durable {
		return errors.New(text)
	}
	t.note(text)
	fmt.Fprintf(os.Stderr, "%s: %s; the backend's log ends with: %s\n", t.name, text, tail(t.subject.process.Log()))
	return nil
}

// tail is the end of a log.
func tail(log string) string { return log[max(0, len(log)-1500):] }
