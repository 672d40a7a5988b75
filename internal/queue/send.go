package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/perfline/perfline/internal/text"
)

// The pauses between attempts.
const (
	minPause = 300 * time.Millisecond
	maxPause = 3 * time.Second
	maxAfter = 5 * time.Minute // what a receiver may ask for, plus a tenth by chance
)

// maxKept is how many items the slice of a batch has room for at most between batches.
const maxKept = 4096

// maxReason is how many bytes of a receiver's text are logged.
const maxReason = 1 << 10

// run sends until the queue is shut down and empty, or given up.
func (q *Queue[T]) run() {
	defer q.end()
	for {
		batch, until := q.next()
		if batch == nil {
			return
		}
		pause, e := q.settle(q.attempt(batch, until))
		q.log(e)
		if pause > 0 {
			q.pause(pause)
		}
	}
}

// next waits for a batch to send, and returns it with the end of its time, if it has one; nil when there will be none.
func (q *Queue[T]) next() (batch []T, until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.life.Err() == nil && !q.cut() {
		if q.closing {
			return nil, until
		}
		if q.waiting.items > 0 && !q.armed {
			q.arm()
		}
		q.wait(idle, q.time.C)
	}
	if q.life.Err() != nil {
		return nil, until
	}
	q.tries++
	if q.tries == 1 {
		q.since = time.Now()
	} else {
		q.stats.Retries++
	}
	if q.c.Timeout > 0 {
		until = q.since.Add(q.c.Timeout)
	}
	q.rush, q.state = false, sending
	return q.batch, until
}

// wait gives the lock away until the sending goroutine is woken, until t, or until life ends.
func (q *Queue[T]) wait(s state, t <-chan time.Time) {
	q.state = s
	q.mu.Unlock()
	woken, timed := false, false
	select {
	case <-q.wake:
		woken = true
	case <-t:
		timed = true
	case <-q.life.Done():
	}
	q.mu.Lock()
	if q.state == busy && !woken {
		<-q.wake // came at the same time
	}
	q.state = busy
	if timed && s == idle {
		q.armed = false
		q.due = q.added
	}
}

// cut fills the batch unless there is one, and reports whether there is one now.
func (q *Queue[T]) cut() bool {
	if len(q.batch) > 0 {
		return true
	}
	if q.waiting.items > 0 && (q.closing || q.c.Delay <= 0 || q.oldestWaiting() <= q.due || q.full()) {
		q.first, q.tries, q.unanswered = q.oldestWaiting(), 0, false
		for count, bytes := 0, 0; q.waiting.items > 0; {
			item := q.waiting.front()
			c, b := item.Count(), item.Request()
			if len(q.batch) > 0 && (c > q.c.BatchCount-count || b > q.c.BatchBytes-bytes) {
				break
			}
			q.waiting.pop(c, b)
			q.batch = append(q.batch, item)
			count += c
			bytes += b
			if count >= q.c.BatchCount || bytes >= q.c.BatchBytes {
				break
			}
		}
		if q.waiting.items == 0 && q.armed {
			q.armed = false
			q.time.Stop()
		}
		return true
	}
	if len(q.aside) > 0 {
		a := q.aside[0]
		q.aside = removed(q.aside, 0)
		q.batch, q.first, q.since, q.tries, q.unanswered = append(q.batch, a.item), a.number, a.since, a.tries, a.unanswered
		return true
	}
	return false
}

// attempt sends the batch.
func (q *Queue[T]) attempt(batch []T, until time.Time) (a Answer) {
	defer func() {
		if r := recover(); r != nil {
			a = Answer{Err: fmt.Errorf("panic: %v", r), Unanswered: true}
		}
	}()
	ctx := q.life
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	return q.c.Send(ctx, batch)
}

// settle enters in the books what became of the batch, and returns how long to wait before the next attempt and what there is
// to log.
func (q *Queue[T]) settle(a Answer) (pause time.Duration, e event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state = busy
	q.unanswered = q.unanswered || a.Unanswered
	if q.ended || a.Err != nil && q.life.Err() != nil {
		return 0, e // given up: end enters it in the books
	}
	before := q.stats.lost()
	if a.Err == nil {
		q.failures = 0
		q.delivered(&a)
	} else {
		if a.Retry {
			pause = q.nextPause(a.After)
		}
		switch {
		case a.Unknown && q.c.UnknownPause > 0:
			q.failed(a)
			q.failWaiting(a.Err)
			q.unknown = time.Now().Add(q.c.UnknownPause)
		case !a.Retry, q.c.Timeout > 0 && pause >= q.c.Timeout-time.Since(q.since):
			q.failed(a)
		case a.Aside:
			q.putAside()
		}
	}
	e = q.event(a, before)
	q.giveUp(a.Err)
	q.releaseAll()
	return pause, e
}

// delivered counts the batch, of which the receiver may have turned down some.
func (q *Queue[T]) delivered(a *Answer) {
	if a.Message = text.Cut(a.Message, maxReason); a.Message == "" && a.Rejected > 0 {
		a.Message = "the receiver gave no reason"
	}
	var count uint64
	for _, item := range q.batch {
		count += uint64(item.Count())
	}
	rejected := min(uint64(max(a.Rejected, 0)), count)
	a.Rejected = int64(rejected) //nolint:gosec // no more than it was
	q.stats.Delivered += count - rejected
	q.stats.Failed += rejected
	if rejected > 0 {
		q.lose(q.first, errors.New(a.Message), rejected, q.batch...)
	}
	q.clearBatch()
}

// failed counts the batch as lost.
func (q *Queue[T]) failed(a Answer) {
	var count uint64
	for _, item := range q.batch {
		count += uint64(item.Count())
	}
	q.stats.Failed += count
	if q.unanswered {
		q.stats.Unanswered += count
	}
	q.lose(q.first, a.Err, count, q.batch...)
	q.clearBatch()
}

// failWaiting counts all items that wait as lost.
func (q *Queue[T]) failWaiting(why error) {
	fail := func(item T, number uint64, unanswered bool) {
		count := uint64(item.Count())
		q.stats.Failed += count
		if unanswered {
			q.stats.Unanswered += count
		}
		q.lose(number, why, count, item)
		q.forget(item)
		q.c.Release(item)
	}
	for q.waiting.items > 0 {
		item, number := q.waiting.front(), q.oldestWaiting()
		q.waiting.pop(item.Count(), item.Request())
		fail(item, number, false)
	}
	for _, a := range q.aside {
		fail(a.item, a.number, a.unanswered)
	}
	q.aside = nil
	q.armed = false
	q.time.Stop()
}

func (q *Queue[T]) clearBatch() {
	for _, item := range q.batch {
		q.forget(item)
		q.c.Release(item)
	}
	clear(q.batch)
	if q.batch = q.batch[:0]; cap(q.batch) > maxKept {
		q.batch = nil
	}
}

// putAside puts the batch's items behind the others, each to be sent alone.
func (q *Queue[T]) putAside() {
	for i, item := range q.batch {
		q.aside = append(q.aside, setAside[T]{item, q.first + uint64(i), q.since, q.tries, q.unanswered})
	}
	clear(q.batch)
	q.batch = q.batch[:0]
}

// nextPause returns the pause before the next attempt. A part of it is chance: programs that lost their receiver together, or
// were throttled together, do not come back together.
func (q *Queue[T]) nextPause(after time.Duration) time.Duration {
	pause := minPause
	for range q.failures {
		pause = min(pause*3/2, maxPause)
	}
	q.failures = min(q.failures+1, 10)
	pause = pause/2 + rand.N(pause/2+1) //nolint:gosec // no secret
	if q.throttled = after > 0; q.throttled {
		after = min(after, maxAfter)
		after += rand.N(after/10 + 1) //nolint:gosec // no secret
		if len(q.flushes) > 0 {
			after = min(after, maxPause) // callers of Flush and Shutdown wait
		}
		pause = max(pause, after)
	}
	return pause
}

// pause waits until the next attempt. Flush and Shutdown end the queue's own pause, and shorten the receiver's.
func (q *Queue[T]) pause(d time.Duration) {
	end := time.Now().Add(d)
	t := time.NewTimer(d)
	defer t.Stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.rush {
		q.wait(pausing, t.C)
	}
	switch {
	case !q.rush:
	case q.throttled:
		t.Reset(min(time.Until(end), maxPause))
		q.wait(shortened, t.C)
	default:
		q.failures = 0
	}
}
