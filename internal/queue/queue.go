package queue

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/record"
)

var (
	errFull = errors.New("the queue is full")
	errShut = errors.New("the queue is shut down")
)

// An Item is what a queue delivers. Its methods always return the same.
type Item interface {
	Count() int   // how many spans, profiles … it stands for, in which all books are kept
	Bytes() int   // what it takes of memory
	Request() int // how many bytes it adds to a request, or more, but never less
}

// Config configures [New]. Only Send has to be set.
type Config[T Item] struct {
	What string // in log lines and errors: "spans"
	To   string // the receiver, in log lines and errors; no secrets

	// MaxCount and MaxBytes bound what waits, with the batch that is being sent, by Count and
	// Bytes; 0 means no bound. An item that exceeds a bound by itself is dropped.
	MaxCount, MaxBytes int

	// BatchCount and BatchBytes bound a batch, by Count and Request; 0 means no bound. An item that
	// exceeds one by itself travels alone. They are at most half of MaxCount and MaxBytes: one half
	// fills while the other one is sent.
	BatchCount, BatchBytes int

	// DropOldest makes room for a new item by dropping the oldest ones, except those that are being
	// sent. Otherwise the new item is dropped.
	DropOldest bool

	Delay time.Duration // how long an item waits for a batch to fill; 0 means not at all
	// how long a batch is tried, with all its attempts; 0 means until it is delivered, refused or dropped
	Timeout time.Duration
	// attempts in a row after whose failure Flush and Shutdown give up; 0 means only with their context
	GiveUp int

	// UnknownPause is the pause after an answer that is Unknown. Items that wait then fail, and
	// items that come during the pause are dropped. The first item after the pause is tried. 0
	// means no pause: such an answer is like any other error.
	UnknownPause time.Duration

	// Send sends a batch: see [Sender] for its rules, and [Encoded]. The slice is the queue's again
	// after the call.
	Send func(ctx context.Context, batch []T) Answer

	// Release gets each item that Add was given once, when it is delivered, failed or dropped, and
	// Send no longer reads it: its storage may be used again. Items that Shutdown gives up are not
	// released, because Send may still read them. Release runs under the queue's lock. It must be
	// short, and must not call the queue. nil means that items need none.
	Release func(T)

	Logger *slog.Logger // nil means slog.Default()
}

// Stats are a queue's books, in units of [Item].Count: Accepted = Delivered + Failed + Dropped +
// Pending.
type Stats struct {
	Accepted  uint64 // given to Add
	Delivered uint64 // taken by the receiver
	Failed    uint64 // not taken by the receiver, for good
	// for want of room, added in a pause of [Config].UnknownPause, or added after Shutdown
	Dropped uint64
	Pending uint64 // waiting or being sent; after Shutdown, given up

	PendingBytes int    // of Pending
	Unanswered   uint64 // of Failed: the receiver may have taken them nevertheless
	Retries      uint64 // attempts to send a batch again
}

// lost counts what will not arrive.
func (s Stats) lost() uint64 { return s.Failed + s.Dropped }

// A state says what the sending goroutine does.
type state int

const (
	busy      state = iota // with what it will look at again before it waits
	sending                // the batch, which it reads without the lock
	pausing                // until the next attempt
	shortened              // the same; Flush and Shutdown do not wake it
	idle                   // until there is a batch to send
)

// A Queue is made by [New]. Its methods may be called concurrently.
type Queue[T Item] struct {
	c Config[T]

	life context.Context //nolint:containedctx // the context of all attempts, which Shutdown ends
	kill context.CancelCauseFunc
	wake chan struct{} // has a value when the sending goroutine should stop waiting
	done chan struct{} // closed when the books are final
	time *time.Timer   // of Delay; runs while armed

	logged logLimiter // the sending goroutine's

	mu      sync.Mutex // guards what follows
	stats   Stats
	reason  error // of the last loss
	waiting fifo[T]
	added   uint64 // items ever in waiting; items are numbered from 1 on
	due     uint64 // the number up to which items do not wait for a batch to fill
	armed   bool
	state   state

	// The first items of the batch are being sent, or wait for their next attempt.
	batch []T
	sent  int       // of the last attempt; 0 before
	first uint64    // the number of the first item
	since time.Time // the first attempt
	tries int
	// how many of the first items the receiver may have, because an attempt with them was not answered
	doubtful int
	// bytes of a request that the receiver takes, as far as it has refused larger ones; 0: it has not
	most  int
	aside []setAside[T]

	failures  int  // attempts in a row that ask for a pause
	throttled bool // the receiver asked for the pause
	rush      bool // Flush or Shutdown want no pause before the next attempt

	unknown time.Time // end of a pause because the receiver does not know the items; zero: none

	failing     bool        // the last attempt failed
	warned      bool        // as the log says
	saidUnknown bool        // the log says that the receiver does not know the items
	warnings    []time.Time // of the last minute
	lostBefore  uint64      // lost items up to the last answer
	unlogged    uint64      // items lost while delivery failed, which no line has counted

	flushes []*flush
	closing bool
	last    flush // Shutdown's
	ended   bool  // the books are final
	err     error // of Shutdown
}

// A setAside is an item that goes behind those that wait.
type setAside[T Item] struct {
	item       T
	number     uint64
	since      time.Time
	tries      int
	unanswered bool
}

// New starts a queue. The caller has to shut it down. It panics if c.Send is nil.
func New[T Item](c Config[T]) *Queue[T] {
	if c.Send == nil {
		panic("queue: Config.Send is nil")
	}
	c.Logger = record.SafeLogger(c.Logger)
	if c.Release == nil {
		c.Release = func(T) {}
	}
	c.MaxCount, c.MaxBytes = unbounded(c.MaxCount), unbounded(c.MaxBytes)
	c.BatchCount = min(unbounded(c.BatchCount), max(c.MaxCount/2, 1))
	c.BatchBytes = min(unbounded(c.BatchBytes), max(c.MaxBytes/2, 1))
	q := &Queue[T]{c: c, wake: make(chan struct{}, 1), logged: logLimiter{},
		done: make(chan struct{}), time: time.NewTimer(math.MaxInt64)}
	q.time.Stop()
	q.life, q.kill = context.WithCancelCause(context.Background())
	go q.run()
	return q
}

func unbounded(n int) int {
	if n <= 0 {
		return math.MaxInt
	}
	return n
}

// Add queues items, each of which it may drop and count. It never blocks on the receiver, and does
// not allocate but for room in the queue.
func (q *Queue[T]) Add(items ...T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, item := range items {
		count := uint64(item.Count())
		q.stats.Accepted += count
		if !q.add(item) {
			q.stats.Dropped += count
			q.c.Release(item)
		}
	}
}

// add queues an item. It returns false if the item is to be dropped.
func (q *Queue[T]) add(item T) bool {
	count, bytes := item.Count(), item.Bytes()
	if q.closing {
		q.reason = errShut
		return false
	}
	if !q.unknown.IsZero() {
		if time.Now().Before(q.unknown) {
			return false
		}
		q.unknown = time.Time{}
	}
	if !q.makeRoom(count, bytes) {
		q.reason = errFull
		q.due = q.added // even half a batch makes room
		q.rouse()
		return false
	}
	q.waiting.push(item, count, item.Request())
	q.added++
	q.stats.Pending += uint64(count)
	q.stats.PendingBytes += bytes
	switch {
	case q.c.Delay <= 0, q.full():
		q.rouse()
	case !q.armed:
		q.arm()
	}
	return true
}

// Stats returns the books of one moment.
func (q *Queue[T]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}

// Reason returns why items were lost last, nil if none were.
func (q *Queue[T]) Reason() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reason
}

// full reports whether a whole batch waits.
func (q *Queue[T]) full() bool {
	return q.waiting.count >= q.c.BatchCount || q.waiting.request >= q.batchBytes()
}

// arm starts the timer of Delay.
func (q *Queue[T]) arm() {
	q.armed = true
	q.time.Reset(q.c.Delay)
}

// rouse wakes the sending goroutine if it waits for something to send.
func (q *Queue[T]) rouse() {
	if q.state == idle {
		q.state = busy
		q.wake <- struct{}{} // has room: waits begin with an empty channel, and end with the state
	}
}

// makeRoom reports whether there is room, having dropped the oldest items for it if need be.
func (q *Queue[T]) makeRoom(count, bytes int) bool {
	fits := func(pending uint64, pendingBytes int) bool {
		return pending+uint64(count) <= uint64(q.c.MaxCount) && bytes <= q.c.MaxBytes-pendingBytes
	}
	if fits(q.stats.Pending, q.stats.PendingBytes) {
		return true
	}
	if !q.c.DropOldest {
		return false
	}
	var fixed uint64 // in the batch that is being sent
	var fixedBytes int
	if q.state == sending {
		for _, item := range q.batch {
			fixed += uint64(item.Count())
			fixedBytes += item.Bytes()
		}
	}
	if !fits(fixed, fixedBytes) {
		return false
	}
	for !fits(q.stats.Pending, q.stats.PendingBytes) {
		q.dropOldest()
	}
	q.releaseAll()
	return true
}

// dropOldest drops the oldest item that is not being sent. There is one.
func (q *Queue[T]) dropOldest() {
	at, number := -1, uint64(math.MaxUint64)
	for i, a := range q.aside {
		if a.number < number {
			at, number = i, a.number
		}
	}
	var item T
	switch {
	case q.state != sending && len(q.batch) > 0 && q.first < number:
		item, number = q.batch[0], q.first
		q.batch = removed(q.batch, 0)
		q.sent, q.doubtful = max(0, q.sent-1), max(0, q.doubtful-1)
		q.first++
	case at >= 0:
		item = q.aside[at].item
		q.aside = removed(q.aside, at)
	default:
		item, number = q.waiting.front(), q.oldestWaiting()
		q.waiting.pop(item.Count(), item.Request())
	}
	q.stats.Dropped += uint64(item.Count())
	q.lose(number, errFull, uint64(item.Count()), item)
	q.forget(item)
	q.c.Release(item)
}

// removed returns s without an element, in the same array.
func removed[E any](s []E, at int) []E {
	copy(s[at:], s[at+1:])
	clear(s[len(s)-1:])
	return s[:len(s)-1]
}

// forget takes an item out of what is pending.
func (q *Queue[T]) forget(item T) {
	q.stats.Pending -= uint64(item.Count())
	q.stats.PendingBytes -= item.Bytes()
}

func (q *Queue[T]) oldestWaiting() uint64 { return q.added - uint64(q.waiting.items) + 1 }
