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

// afterDeadline is how long a Shutdown whose context is over waits for the attempt that it has just
// cancelled.
const afterDeadline = 250 * time.Millisecond

// A flush waits until the items up to a number are settled. The queue's lock guards it.
type flush struct {
	upTo     uint64
	lost     uint64 // of these
	err      error  // why
	failures int    // attempts in a row since it began
	over     bool
	done     chan struct{} // closed when it is over
}

// Flush sends the waiting items, without Delay, and returns when they are delivered, failed or
// dropped. It ends a pause of the queue, and shortens one that the receiver asked for to 3 s. It
// does not wait for items that are added later. The error says how many items were lost and why, or
// that the items still wait because ctx ended or [Config].GiveUp attempts failed in a row. After
// Shutdown, Flush returns the error of Shutdown.
func (q *Queue[T]) Flush(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return q.err
	}
	f := &flush{upTo: q.added, done: make(chan struct{})}
	if q.oldest() > f.upTo {
		return nil
	}
	q.flushes = append(q.flushes, f)
	q.hurry()
	q.mu.Unlock()
	var cause error
	select {
	case <-f.done:
	case <-ctx.Done():
		cause = record.SafeError(context.Cause(ctx)) // which is printed under the lock
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

// Shutdown sends the waiting items, and returns when the sending goroutine has ended. The books are
// final then. Items that are added later are dropped.
//
// Shutdown gives up when ctx ends or when [Config].GiveUp attempts fail in a row. It cancels the
// attempt under way and waits a quarter of a second at most for its end. Items that are not settled
// stay in Pending. If the receiver may have them, because an attempt was not answered, they count
// as Failed and Unanswered. The error says how many of the waiting items were not delivered, and
// why. Further calls wait for the same end and return the same. The context of a further call ends
// only that call, with an error that says how many items still wait.
func (q *Queue[T]) Shutdown(ctx context.Context) error {
	q.mu.Lock()
	first := !q.closing
	if first {
		q.closing = true
		q.last.upTo = q.added
		q.flushes = append(q.flushes, &q.last)
		q.hurry()
	}
	q.mu.Unlock()
	select {
	case <-q.done:
	case <-ctx.Done():
		cause := record.SafeError(context.Cause(ctx)) // which is printed under the lock
		if first {
			q.kill(fmt.Errorf("the context of Shutdown: %w", cause))
		}
		t := time.NewTimer(afterDeadline)
		defer t.Stop()
		select {
		case <-q.done:
		case <-t.C:
			if q.life.Err() == nil { // the first call goes on
				q.mu.Lock()
				defer q.mu.Unlock()
				return q.stillWait(cause)
			}
		}
	}
	q.end()
	return q.err
}

// stillWait returns the error of a call that does not wait any longer. The queue's lock is held.
func (q *Queue[T]) stillWait(cause error) error {
	return fmt.Errorf("%d %s still wait for %s: %w", q.stats.Pending, q.c.What, q.c.To, cause)
}

// end makes the books final.
func (q *Queue[T]) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return
	}
	q.closing, q.ended = true, true
	if n := q.stats.Pending + q.last.lost; n > 0 {
		why := cmp.Or(context.Cause(q.life), q.last.err, errShut)
		q.failUnanswered(why)
		q.err = fmt.Errorf("%d %s not delivered to %s: %w", n, q.c.What, q.c.To, why)
	}
	q.kill(nil)
	q.time.Stop()
	q.waiting, q.aside = fifo[T]{}, nil
	for _, f := range q.flushes {
		q.release(f, q.stillWait(errShut))
	}
	q.flushes = nil
	close(q.done)
}

// failUnanswered counts the pending items that the receiver may have as lost. It leaves the batch
// alone, and releases nothing: a Sender that ignores its context still reads it.
func (q *Queue[T]) failUnanswered(why error) {
	fail := func(item T) {
		q.forget(item)
		q.stats.Failed += uint64(item.Count())
		q.stats.Unanswered += uint64(item.Count())
		q.reason = why
	}
	doubtful := q.doubtful
	if q.state == sending {
		doubtful = max(doubtful, q.sent)
	}
	for _, item := range q.batch[:doubtful] {
		fail(item)
	}
	for _, a := range q.aside {
		if a.unanswered {
			fail(a.item)
		}
	}
}

// hurry ends the waits of the sending goroutine, except for a pause that is shortened already.
func (q *Queue[T]) hurry() {
	q.due, q.rush = q.added, true
	if q.state == pausing {
		q.state = idle
	}
	q.rouse()
}

// lose tells flushes of items that are lost: count in all, numbered from first on.
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
	for _, a := range q.aside {
		number = min(number, a.number)
	}
	return number
}

// releaseAll ends the flushes all of whose items are settled.
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

// giveUp ends the flushes that have seen too many attempts fail in a row, and the queue if Shutdown
// has.
func (q *Queue[T]) giveUp(err error) {
	for _, f := range q.flushes {
		if f.failures++; err == nil {
			f.failures = 0
		}
		if q.c.GiveUp > 0 && f.failures >= q.c.GiveUp && q.oldest() <= f.upTo {
			why := fmt.Errorf("%d %s still wait for %s after %d failed attempts: %w",
				q.stats.Pending, q.c.What, q.c.To, f.failures, err)
			if f == &q.last {
				q.kill(err)
			} else if !q.closing { // whose end is near
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
