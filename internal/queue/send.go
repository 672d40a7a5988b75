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
	maxAfter = 5 * time.Minute // what a receiver may ask for, plus a tenth by chance
)

// maxKept is how many items the slice of a batch has room for at most between batches.
const maxKept = 4096

// maxReason is how many bytes of a receiver's text are logged.
const maxReason = 1 << 10

// run sends until the queue is shut down and empty, or given up. A Sender that ends the goroutine
// does not end that.
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

// step makes an attempt and what follows from it. It returns false if there is nothing more to
// send.
func (q *Queue[T]) step() bool {
	batch, until := q.next()
	if batch == nil {
		return false
	}
	a := Answer{Err: errGoexit, Unanswered: true}
	defer func() { // also if Send ends the goroutine
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

// errGoexit stands for an answer that a Sender has not given.
var errGoexit = errors.New("the sender ended its goroutine")

// attempt sends the batch. Send is the program's code.
func (q *Queue[T]) attempt(batch []T, until time.Time) Answer {
	ctx := q.life
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	a := q.c.Send(ctx, batch)
	a.Err = record.SafeError(a.Err) // which is printed under the lock
	return a
}

// next waits for a batch to send, and returns it with the end of its time, if it has one; nil when
// there will be none.
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
	q.sent = q.portion()
	return q.batch[:q.sent], until
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
	if q.waiting.items > 0 &&
		(q.closing || q.c.Delay <= 0 || q.oldestWaiting() <= q.due || q.full()) {
		q.first, q.tries, q.doubtful = q.oldestWaiting(), 0, 0
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
		if q.waiting.items == 0 && q.armed {
			q.armed = false
			q.time.Stop()
		}
		return true
	}
	if len(q.aside) > 0 {
		a := q.aside[0]
		q.aside = removed(q.aside, 0)
		q.batch, q.first, q.since, q.tries, q.doubtful = append(q.batch, a.item), a.number, a.since,
			a.tries, 0
		if a.unanswered {
			q.doubtful = 1
		}
		return true
	}
	return false
}

// minMost is how small a request is never made on purpose, in bytes. Who refuses that has another
// reason.
const minMost = 64 << 10

// batchBytes returns how long a request may be.
func (q *Queue[T]) batchBytes() int {
	if q.most > 0 {
		return min(q.most, q.c.BatchBytes)
	}
	return q.c.BatchBytes
}

// portion returns how many items of the batch fit in a request: at least 1.
func (q *Queue[T]) portion() (n int) {
	for bytes := 0; n < len(q.batch); n++ {
		if bytes += q.batch[n].Request(); n > 0 && bytes > q.batchBytes() {
			break
		}
	}
	return n
}

// shrink notes that the receiver does not take a request as long as the last one. It returns false
// if the items cannot be sent in smaller ones.
func (q *Queue[T]) shrink() bool {
	bytes := 0
	for _, item := range q.batch[:q.sent] {
		bytes += item.Request()
	}
	if bytes <= minMost { // the reason was another one from the start
		q.most = 0
		return false
	}
	q.most = min(q.batchBytes(), max(bytes/2, minMost))
	return q.sent > 1
}

// settle enters in the books what became of the batch, and returns how long to wait before the next
// attempt and what there is to log.
func (q *Queue[T]) settle(a Answer) (pause time.Duration, e event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state = busy
	if a.Unanswered {
		q.doubtful = max(q.doubtful, q.sent)
	}
	if q.ended || a.Err != nil && q.life.Err() != nil {
		return 0, e // given up: end enters it in the books
	}
	if a.TooLarge && q.shrink() {
		return 0, event{smaller: q.most}
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

// delivered counts what was sent, of which the receiver may have turned down some.
func (q *Queue[T]) delivered(a *Answer) {
	if a.Message = text.Cut(a.Message, maxReason); a.Message == "" && a.Rejected > 0 {
		a.Message = "the receiver gave no reason"
	}
	var count uint64
	for _, item := range q.batch[:q.sent] {
		count += uint64(item.Count())
	}
	rejected := min(uint64(max(a.Rejected, 0)), count)
	a.Rejected = int64(rejected) //nolint:gosec // no more than it was
	q.stats.Delivered += count - rejected
	q.stats.Failed += rejected
	if rejected > 0 {
		q.lose(q.first, errors.New(a.Message), rejected, q.batch[:q.sent]...)
	}
	q.releaseSent()
}

// failed counts what was sent as lost.
func (q *Queue[T]) failed(a Answer) {
	var count uint64
	for i, item := range q.batch[:q.sent] {
		count += uint64(item.Count())
		if i < q.doubtful {
			q.stats.Unanswered += uint64(item.Count())
		}
	}
	q.stats.Failed += count
	q.lose(q.first, a.Err, count, q.batch[:q.sent]...)
	q.releaseSent()
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

// releaseSent takes what was sent out of the queue.
func (q *Queue[T]) releaseSent() {
	for _, item := range q.batch[:q.sent] {
		q.forget(item)
		q.c.Release(item)
	}
	q.nextPortion()
}

// nextPortion takes what was sent out of the batch.
func (q *Queue[T]) nextPortion() {
	rest := copy(q.batch, q.batch[q.sent:])
	clear(q.batch[rest:])
	q.batch = q.batch[:rest]
	q.first += uint64(q.sent)
	q.sent, q.tries, q.doubtful = 0, 0, max(0, q.doubtful-q.sent)
	if rest == 0 && cap(q.batch) > maxKept {
		q.batch = nil
	}
}

// putAside puts what was sent behind the others, each to be sent alone.
func (q *Queue[T]) putAside() {
	for i, item := range q.batch[:q.sent] {
		q.aside = append(q.aside,
			setAside[T]{item, q.first + uint64(i), q.since, q.tries, i < q.doubtful})
	}
	q.nextPortion()
}

// nextPause returns the pause before the next attempt. A part of it is chance: programs that lost
// their receiver together, or were throttled together, do not come back together.
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

// pause waits until the next attempt. Flush and Shutdown end the queue's own pause, and shorten the
// receiver's.
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
