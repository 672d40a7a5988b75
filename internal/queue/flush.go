package queue

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// afterDeadline is the time that Shutdown waits for the cancelled attempt after its context has
// ended.
const afterDeadline = 250 * time.Millisecond

// A flush waits until all items up to a number are settled. The queue's lock guards a flush.
type flush struct {
	upTo     uint64
	lost     uint64 // count of these items that were lost
	err      error  // the reason
	failures int    // consecutive failed attempts since the flush began
	over     bool
	done     chan struct{} // closed when over is set
}

// Flush sends the waiting items without Delay. Flush returns when all these items are delivered,
// failed or dropped. Flush ignores items that are added later. After a failed attempt, the queue
// pauses. Flush ends the pause. If the receiver asked for the pause, the rest of the pause becomes
// at most 3 s.
//
// Flush returns an error in these cases:
//
//   - Items are lost. The error contains the number of lost items and the reason.
//   - ctx ends, or [Config].GiveUp attempts fail in a row. The error contains the number of pending
//     items and the reason.
//   - Shutdown abandons items. After the end of Shutdown, Flush returns the error of Shutdown.
func (q *Queue[T]) Flush(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return q.err
	}
	f := &flush{upTo: q.added, done: make(chan struct{})}
	if q.oldest() > f.upTo {
		return nil
	}
	q.flushes = append(q.flushes, f)
	q.endWaits()
	q.mu.Unlock()
	var cause error
	select {
	case <-f.done:
	case <-ctx.Done():
		cause = record.SafeError(context.Cause(ctx)) // safe to print under the lock
	}
	q.mu.Lock()
	switch {
	case !f.over:
		q.flushes = slices.DeleteFunc(q.flushes, func(other *flush) bool { return other == f })
		return q.stillWait(cause)
	case f.lost > 0:
		return fmt.Errorf("%d %s not delivered to %s: %w", f.lost, q.c.What, q.c.To, f.err)
	default:
		return f.err
	}
}

// Shutdown sends the waiting items, and waits until the sending goroutine ends. The counts are then
// final. The queue drops items that the program adds after the call of Shutdown.
//
// Shutdown abandons undelivered items when ctx ends, or after [Config].GiveUp failed attempts in a
// row. Shutdown cancels the current attempt, and waits at most 250 ms for the end of the attempt.
// The abandoned items remain in Pending. However, items that the receiver may have accepted count
// as Failed and Unanswered. The error contains the number of undelivered items and the reason.
//
// A further call waits for the end of the first call, and returns the same error. If ctx of the
// further call ends first, the error contains the number of pending items. The first call
// continues.
func (q *Queue[T]) Shutdown(ctx context.Context) error {
	q.mu.Lock()
	first := !q.closing
	if first {
		q.closing = true
		q.shutdown.upTo = q.added
		q.flushes = append(q.flushes, &q.shutdown)
		q.endWaits()
	}
	q.mu.Unlock()
	select {
	case <-q.done:
	case <-ctx.Done():
		cause := record.SafeError(context.Cause(ctx)) // safe to print under the lock
		if first {
			q.kill(fmt.Errorf("the context of Shutdown: %w", cause))
		}
		t := time.NewTimer(afterDeadline)
		defer t.Stop()
		select {
		case <-q.done:
		case <-t.C:
			if q.life.Err() == nil { // the first call still waits
				q.mu.Lock()
				defer q.mu.Unlock()
				return q.stillWait(cause)
			}
		}
	}
	q.end()
	return q.err
}

// stillWait returns the error of a call that stops waiting. The caller holds the queue's lock.
func (q *Queue[T]) stillWait(cause error) error {
	return fmt.Errorf("%d %s still wait for %s: %w", q.stats.Pending, q.c.What, q.c.To, cause)
}

// end makes the counts final.
func (q *Queue[T]) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closing, q.closed = true, true
	if n := q.stats.Pending + q.shutdown.lost; n > 0 {
		why := cmp.Or(context.Cause(q.life), q.shutdown.err, errShut)
		q.failUnanswered(why)
		q.err = fmt.Errorf("%d %s not delivered to %s: %w", n, q.c.What, q.c.To, why)
	}
	q.kill(nil)
	q.timer.Stop()
	q.waiting, q.deferred = fifo[T]{}, nil
	for _, f := range q.flushes {
		q.release(f, q.stillWait(errShut))
	}
	q.flushes = nil
	close(q.done)
}

// failUnanswered counts pending items as Failed if the receiver may have accepted them. It neither
// changes the batch nor releases items, because a Sender that ignores its context may still read
// them.
func (q *Queue[T]) failUnanswered(why error) {
	fail := func(item T) {
		q.removePending(item)
		q.stats.Failed += uint64(item.Count())
		q.stats.Unanswered += uint64(item.Count())
		q.reason = why
	}
	unanswered := q.unanswered
	if q.state == sending {
		unanswered = max(unanswered, q.sent)
	}
	for _, item := range q.batch[:unanswered] {
		fail(item)
	}
	for _, a := range q.deferred {
		if a.unanswered {
			fail(a.item)
		}
	}
}

// endWaits ends a wait of the sending goroutine, except for a pause that is already shortened.
func (q *Queue[T]) endWaits() {
	q.sendUpTo, q.skipPause = q.added, true
	if q.state == pausing {
		q.state = idle
	}
	q.wakeSender()
}

// lose adds lost items, numbered from first on, to the flushes that wait for them. count bounds the
// loss: the receiver may have rejected only a part of the items.
func (q *Queue[T]) lose(first uint64, why error, count uint64, items ...T) {
	q.reason = why
	for _, f := range q.flushes {
		var n uint64
		for i, item := range items {
			if first+uint64(i) <= f.upTo {
				n += uint64(item.Count())
			}
		}
		if n > 0 {
			f.lost += min(n, count)
			f.err = why
		}
	}
}

// oldest returns the number of the oldest item that is not settled.
func (q *Queue[T]) oldest() uint64 {
	number := uint64(math.MaxUint64)
	if q.waiting.items > 0 {
		number = q.oldestWaiting()
	}
	if len(q.batch) > 0 {
		number = min(number, q.first)
	}
	for _, a := range q.deferred {
		number = min(number, a.number)
	}
	return number
}

// releaseAll ends the flushes whose items are all settled.
func (q *Queue[T]) releaseAll() {
	if len(q.flushes) == 0 {
		return
	}
	oldest := q.oldest()
	q.flushes = slices.DeleteFunc(q.flushes, func(f *flush) bool {
		if oldest > f.upTo {
			q.release(f, f.err)
		}
		return f.over
	})
}

// giveUp ends the flushes with too many consecutive failed attempts. For the flush of Shutdown, it
// ends the queue.
func (q *Queue[T]) giveUp(err error) {
	for _, f := range q.flushes {
		if f.failures++; err == nil {
			f.failures = 0
		}
		if q.c.GiveUp > 0 && f.failures >= q.c.GiveUp && q.oldest() <= f.upTo {
			why := fmt.Errorf("%d %s still wait for %s after %d failed attempts: %w",
				q.stats.Pending, q.c.What, q.c.To, f.failures, err)
			if f == &q.shutdown {
				q.kill(err)
			} else if !q.closing { // otherwise Shutdown ends the flush soon
				q.release(f, why)
			}
		}
	}
}

func (q *Queue[T]) release(f *flush, err error) {
	if !f.over {
		f.over, f.err = true, err
		if f.done != nil {
			close(f.done)
		}
	}
}
