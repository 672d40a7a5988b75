package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
)

// The pauses between attempts.
const (
	minPause = 300 * time.Millisecond
	maxPause = 3 * time.Second
	maxAfter = 5 * time.Minute // limit of a receiver's pause, without its random part
)

const (
	maxBatchCap = 4096    // items: capacity of the batch's slice that stays between batches
	maxReason   = 1 << 10 // bytes of a receiver's text in the log
)

// run sends until the queue is shut down and empty, or given up. If a Sender ends the goroutine,
// run continues on another one.
func (q *Queue[T]) run() {
	over := false
	defer func() {
		if over {
			q.end()
		} else {
			go q.run()
		}
	}()
	for q.step() {
	}
	over = true
}

// step makes an attempt and settles its answer. It returns false if nothing remains to be sent.
func (q *Queue[T]) step() bool {
	batch, until := q.next()
	if batch == nil {
		return false
	}
	a := Answer{Err: errGoexit, Unanswered: true}
	defer func() { // deferred, because Send may end the goroutine
		pause, e := q.settle(a)
		q.log(e)
		if pause > 0 {
			q.pause(pause)
		}
	}()
	if p, ok := record.Protect(func() { a = q.attempt(batch, until) }); !ok {
		a.Err = fmt.Errorf("panic: %s", record.PanicText(p))
	}
	return true
}

// errGoexit replaces the answer of a Sender that ended its goroutine.
var errGoexit = errors.New("the sender ended its goroutine")

// attempt calls Send, which is the program's code.
func (q *Queue[T]) attempt(batch []T, until time.Time) Answer {
	ctx := q.life
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	a := q.c.Send(ctx, batch)
	a.Err = record.SafeError(a.Err) // safe to print under the lock
	return a
}

// next waits for a batch to send. It returns the batch and the deadline of its attempts, which is
// zero without a Timeout. A nil batch means that no more batches follow.
func (q *Queue[T]) next() (batch []T, until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.life.Err() == nil && !q.fillBatch() {
		if q.closing {
			return nil, until
		}
		if q.waiting.items > 0 && !q.timerActive {
			q.arm()
		}
		q.wait(idle, q.timer.C)
	}
	if q.life.Err() != nil {
		return nil, until
	}
	q.attempts++
	if q.attempts == 1 {
		q.firstAttempt = time.Now()
	} else {
		q.stats.Retries++
	}
	if q.c.Timeout > 0 {
		until = q.firstAttempt.Add(q.c.Timeout)
	}
	q.skipPause, q.state = false, sending
	q.sent = q.portion()
	return q.batch[:q.sent], until
}

// wait releases the lock until wake, t or the end of life.
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
		<-q.wake // sent at the same time as another event
	}
	q.state = busy
	if timed && s == idle {
		q.timerActive = false
		q.sendUpTo = q.added
	}
}

// fillBatch fills an empty batch, and reports whether the batch contains items.
func (q *Queue[T]) fillBatch() bool {
	if len(q.batch) > 0 {
		return true
	}
	if q.waiting.items > 0 &&
		(q.closing || q.c.Delay <= 0 || q.oldestWaiting() <= q.sendUpTo || q.full()) {
		q.first, q.attempts, q.unanswered = q.oldestWaiting(), 0, 0
		for count, bytes := 0, 0; q.waiting.items > 0; {
			item := q.waiting.front()
			c, b := item.Count(), item.Request()
			if len(q.batch) > 0 && (c > q.c.BatchCount-count || b > q.batchBytes()-bytes) {
				break
			}
			q.waiting.pop(c, b)
			q.batch = append(q.batch, item)
			count += c
			bytes += b
			if count >= q.c.BatchCount || bytes >= q.batchBytes() {
				break
			}
		}
		if q.waiting.items == 0 && q.timerActive {
			q.timerActive = false
			q.timer.Stop()
		}
		return true
	}
	if len(q.deferred) > 0 {
		a := q.deferred[0]
		q.deferred = removed(q.deferred, 0)
		q.batch, q.first, q.unanswered = append(q.batch, a.item), a.number, 0
		q.firstAttempt, q.attempts = a.firstAttempt, a.attempts
		if a.unanswered {
			q.unanswered = 1
		}
		return true
	}
	return false
}

// minSizeLimit is the smallest limit of a request, in bytes. A receiver that refuses smaller
// requests has another reason.
const minSizeLimit = 64 << 10

func (q *Queue[T]) batchBytes() int {
	if q.sizeLimit > 0 {
		return min(q.sizeLimit, q.c.BatchBytes)
	}
	return q.c.BatchBytes
}

// portion returns the number of the batch's items that fit in a request, at least 1.
func (q *Queue[T]) portion() (n int) {
	for bytes := 0; n < len(q.batch); n++ {
		if bytes += q.batch[n].Request(); n > 0 && bytes > q.batchBytes() {
			break
		}
	}
	return n
}

// shrink lowers the size limit below the last request. It returns false if the items cannot be sent
// in smaller requests.
func (q *Queue[T]) shrink() bool {
	bytes := 0
	for _, item := range q.batch[:q.sent] {
		bytes += item.Request()
	}
	if bytes <= minSizeLimit { // the size is not the reason
		q.sizeLimit = 0
		return false
	}
	q.sizeLimit = min(q.batchBytes(), max(bytes/2, minSizeLimit))
	return q.sent > 1
}

// settle counts the result of an attempt. It returns the pause before the next attempt and the
// event for the log.
func (q *Queue[T]) settle(a Answer) (pause time.Duration, e event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state = busy
	if a.Unanswered {
		q.unanswered = max(q.unanswered, q.sent)
	}
	if q.closed || a.Err != nil && q.life.Err() != nil {
		return 0, e // given up: end counts the items
	}
	if a.TooLarge && q.shrink() {
		return 0, event{sizeLimit: q.sizeLimit}
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
			q.sent = len(q.batch)
			q.failed(a)
			q.failWaiting(a.Err)
			q.unknownUntil = time.Now().Add(q.c.UnknownPause)
		case !a.Retry, q.c.Timeout > 0 && pause >= q.c.Timeout-time.Since(q.firstAttempt):
			q.failed(a)
		case a.Defer:
			q.deferSent()
		}
	}
	e = q.event(a, before)
	q.giveUp(a.Err)
	q.releaseAll()
	return pause, e
}

// delivered counts the sent items as delivered, except for rejected ones.
func (q *Queue[T]) delivered(a *Answer) {
	if a.Message = text.Cut(a.Message, maxReason); a.Message == "" && a.Rejected > 0 {
		a.Message = "the receiver gave no reason"
	}
	count := countOf(q.batch[:q.sent])
	rejected := min(uint64(max(a.Rejected, 0)), count)
	a.Rejected = int64(rejected) //nolint:gosec // not larger than before
	q.stats.Delivered += count - rejected
	q.stats.Failed += rejected
	if rejected > 0 {
		q.lose(q.first, errors.New(a.Message), rejected, q.batch[:q.sent]...)
	}
	q.releaseSent()
}

// failed counts the sent items as lost.
func (q *Queue[T]) failed(a Answer) {
	count := countOf(q.batch[:q.sent])
	q.stats.Unanswered += countOf(q.batch[:min(q.unanswered, q.sent)])
	q.stats.Failed += count
	q.lose(q.first, a.Err, count, q.batch[:q.sent]...)
	q.releaseSent()
}

func (q *Queue[T]) failWaiting(why error) {
	fail := func(item T, number uint64, unanswered bool) {
		count := uint64(item.Count())
		q.stats.Failed += count
		if unanswered {
			q.stats.Unanswered += count
		}
		q.lose(number, why, count, item)
		q.removePending(item)
		q.c.Release(item)
	}
	for q.waiting.items > 0 {
		item, number := q.waiting.front(), q.oldestWaiting()
		q.waiting.pop(item.Count(), item.Request())
		fail(item, number, false)
	}
	for _, a := range q.deferred {
		fail(a.item, a.number, a.unanswered)
	}
	q.deferred = nil
	q.timerActive = false
	q.timer.Stop()
}

func (q *Queue[T]) releaseSent() {
	for _, item := range q.batch[:q.sent] {
		q.removePending(item)
		q.c.Release(item)
	}
	q.nextPortion()
}

func (q *Queue[T]) nextPortion() {
	rest := copy(q.batch, q.batch[q.sent:])
	clear(q.batch[rest:])
	q.batch = q.batch[:rest]
	q.first += uint64(q.sent)
	q.sent, q.attempts, q.unanswered = 0, 0, max(0, q.unanswered-q.sent)
	if rest == 0 && cap(q.batch) > maxBatchCap {
		q.batch = nil
	}
}

// deferSent moves the sent items behind all others. Each of them is then sent alone.
func (q *Queue[T]) deferSent() {
	for i, item := range q.batch[:q.sent] {
		number, unanswered := q.first+uint64(i), i < q.unanswered
		q.deferred = append(q.deferred,
			deferredItem[T]{item, number, q.firstAttempt, q.attempts, unanswered})
	}
	q.nextPortion()
}

// nextPause returns the pause before the next attempt. A part of the pause is random, so that many
// programs do not retry at the same moment.
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
			after = min(after, maxPause) // a caller of Flush or Shutdown waits
		}
		pause = max(pause, after)
	}
	return pause
}

// pause waits for the next attempt. Flush and Shutdown end a pause of the queue, and shorten a
// pause of the receiver.
func (q *Queue[T]) pause(d time.Duration) {
	end := time.Now().Add(d)
	t := time.NewTimer(d)
	defer t.Stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.skipPause {
		q.wait(pausing, t.C)
	}
	switch {
	case !q.skipPause:
	case q.throttled:
		t.Reset(min(time.Until(end), maxPause))
		q.wait(shortened, t.C)
	default:
		q.failures = 0
	}
}
