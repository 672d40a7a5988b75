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

// An Item is a unit of delivery. Each method must always return the same number.
type Item interface {
	Count() int   // number of spans or profiles; all counts use this unit
	Bytes() int   // memory in bytes
	Request() int // maximum size of the item in a request, in bytes
}

// Config configures [New]. Only Send is required.
type Config[T Item] struct {
	What string // name of the items in log lines and errors: "spans"
	To   string // name of the receiver in log lines and errors; no secrets

	// MaxCount and MaxBytes limit the sums of Count and Bytes of all pending items. Pending items
	// include the batch that is being sent. The queue drops a single item that exceeds a limit. 0:
	// no limit.
	MaxCount, MaxBytes int

	// BatchCount and BatchBytes limit the sums of Count and Request of a batch. The queue sends a
	// single larger item alone. The queue also limits a batch to half of MaxCount and half of
	// MaxBytes. Therefore, one half fills while the queue sends the other half. 0: no further
	// limit.
	BatchCount, BatchBytes int

	// If DropOldest is true, a full queue drops the oldest items to make room for a new item. The
	// queue never drops items that are being sent. If DropOldest is false, a full queue drops the
	// new item.
	DropOldest bool

	Delay   time.Duration // time that an item waits for a batch to fill; 0: no wait
	Timeout time.Duration // limit for all attempts to deliver a batch; 0: no limit
	GiveUp  int           // consecutive failures that end Flush and Shutdown; 0: no limit

	// UnknownPause is the pause after an answer with Unknown. All waiting items fail, and the queue
	// drops new items during the pause. After the pause, the queue sends the next new item. 0: no
	// pause; the queue treats Unknown like any other error.
	UnknownPause time.Duration

	// Send sends a batch. The rules of [Sender] apply: see [Encoded]. Send must not retain the
	// slice.
	Send func(ctx context.Context, batch []T) Answer

	// The queue calls Release once for each item, after delivery or loss. Send no longer reads the
	// item, so Release may reuse the item's memory. The queue does not release items that Shutdown
	// abandons, because Send may still read these items. Release runs under the queue's lock:
	// Release must be short and must not call the queue. nil: no call.
	Release func(T)

	Logger *slog.Logger // nil: slog.Default()
}

// Stats contains the counts of a queue, in units of [Item].Count. The counts always balance:
// Accepted = Delivered + Failed + Dropped + Pending.
type Stats struct {
	Accepted  uint64 // passed to Add
	Delivered uint64 // accepted by the receiver
	Failed    uint64 // refused by the receiver, or not delivered in time
	Dropped   uint64 // at a full queue, during [Config].UnknownPause, or after Shutdown
	Pending   uint64 // waiting or being sent; after Shutdown: abandoned

	PendingBytes int    // memory of the pending items
	Unanswered   uint64 // failed items that the receiver may have accepted
	Retries      uint64 // repeated attempts to send a batch
}

func countOf[T Item](items []T) (n uint64) {
	for _, item := range items {
		n += uint64(item.Count())
	}
	return n
}

func (s Stats) lost() uint64 { return s.Failed + s.Dropped }

// A state is the activity of the sending goroutine.
type state int

const (
	busy      state = iota // checks the queue again before it waits
	sending                // reads the batch without the lock
	pausing                // waits for the next attempt
	shortened              // waits for the next attempt; Flush and Shutdown do not end this wait
	idle                   // waits for a batch
)

// A Queue delivers items in batches. [New] returns a Queue. Several goroutines may call the methods
// at the same time.
type Queue[T Item] struct {
	c Config[T]

	life context.Context //nolint:containedctx // the context of all attempts, which Shutdown ends
	kill context.CancelCauseFunc
	wake chan struct{} // contains a value when the sending goroutine should stop waiting
	done chan struct{} // closed when the counts are final

	timer  *time.Timer // of Delay; runs while timerActive
	logged logLimiter  // used only by the sending goroutine

	mu          sync.Mutex // guards the fields below
	stats       Stats
	reason      error // of the last loss
	waiting     fifo[T]
	added       uint64 // number of the last item of waiting; the first item is number 1
	sendUpTo    uint64 // items up to this number do not wait for a batch to fill
	timerActive bool
	state       state

	// The first items of the batch are being sent, or wait for their next attempt.
	batch        []T
	sent         int       // items in the last attempt; 0 before an attempt
	first        uint64    // number of the first item
	firstAttempt time.Time // of the first item
	attempts     int
	unanswered   int // the receiver may have accepted as many of the first items
	sizeLimit    int // bytes of a request, after a larger one was refused; 0: none
	deferred     []deferredItem[T]

	failures     int       // consecutive attempts that require a pause
	throttled    bool      // the receiver asked for the pause
	skipPause    bool      // Flush or Shutdown ask for an attempt without a pause
	unknownUntil time.Time // end of the UnknownPause; zero: no pause

	failing       bool        // the last attempt failed
	failureLogged bool        // the log reports failing delivery
	unknownLogged bool        // the log reports that the receiver does not support the items
	warnings      []time.Time // logged in the last minute
	lostBefore    uint64      // lost items up to the last answer
	unreported    uint64      // items lost while delivery failed, not in the log yet

	flushes  []*flush
	closing  bool  // Shutdown was called
	shutdown flush // the flush of Shutdown
	closed   bool  // the counts are final
	err      error // of Shutdown
}

// A deferredItem is an item that is retried after all waiting items.
type deferredItem[T Item] struct {
	item         T
	number       uint64
	firstAttempt time.Time
	attempts     int
	unanswered   bool
}

// New starts a queue. The caller must call [Queue.Shutdown]. New panics if c.Send is nil.
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
		done: make(chan struct{}), timer: time.NewTimer(math.MaxInt64)}
	q.timer.Stop()
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

// Add adds items to the queue. If the queue does not accept an item, Add drops and counts the item.
// Add never waits for the receiver. Add allocates memory only to grow the queue.
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

// add queues an item. It returns false for an item that the caller must drop.
func (q *Queue[T]) add(item T) bool {
	count, bytes := item.Count(), item.Bytes()
	if q.closing {
		q.reason = errShut
		return false
	}
	if !q.unknownUntil.IsZero() {
		if time.Now().Before(q.unknownUntil) {
			return false
		}
		q.unknownUntil = time.Time{}
	}
	if !q.makeRoom(count, bytes) {
		q.reason = errFull
		q.sendUpTo = q.added // sending even a part of a batch makes room
		q.wakeSender()
		return false
	}
	q.waiting.push(item, count, item.Request())
	q.added++
	q.stats.Pending += uint64(count)
	q.stats.PendingBytes += bytes
	switch {
	case q.c.Delay <= 0, q.full():
		q.wakeSender()
	case !q.timerActive:
		q.arm()
	}
	return true
}

// Stats returns the current counts. All counts are from the same moment.
func (q *Queue[T]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}

// Reason returns the reason of the last loss, or nil if nothing was lost.
func (q *Queue[T]) Reason() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reason
}

// full reports whether the waiting items fill a batch.
func (q *Queue[T]) full() bool {
	return q.waiting.count >= q.c.BatchCount || q.waiting.request >= q.batchBytes()
}

// arm starts the timer of Delay.
func (q *Queue[T]) arm() {
	q.timerActive = true
	q.timer.Reset(q.c.Delay)
}

// wakeSender wakes the sending goroutine if it waits for a batch.
func (q *Queue[T]) wakeSender() {
	if q.state == idle {
		q.state = busy
		q.wake <- struct{}{} // does not block: the channel is empty while the state is idle
	}
}

// makeRoom reports whether the queue has room. With DropOldest, it first drops as many items as
// necessary.
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

// dropOldest drops the oldest item that is not being sent. Such an item must exist.
func (q *Queue[T]) dropOldest() {
	at, number := -1, uint64(math.MaxUint64)
	for i, a := range q.deferred {
		if a.number < number {
			at, number = i, a.number
		}
	}
	var item T
	switch {
	case q.state != sending && len(q.batch) > 0 && q.first < number:
		item, number = q.batch[0], q.first
		q.batch = removed(q.batch, 0)
		q.sent, q.unanswered = max(0, q.sent-1), max(0, q.unanswered-1)
		q.first++
	case at >= 0:
		item = q.deferred[at].item
		q.deferred = removed(q.deferred, at)
	default:
		item, number = q.waiting.front(), q.oldestWaiting()
		q.waiting.pop(item.Count(), item.Request())
	}
	q.stats.Dropped += uint64(item.Count())
	q.lose(number, errFull, uint64(item.Count()), item)
	q.removePending(item)
	q.c.Release(item)
}

// removed removes an element of s in place, and returns the shorter slice.
func removed[E any](s []E, at int) []E {
	copy(s[at:], s[at+1:])
	clear(s[len(s)-1:])
	return s[:len(s)-1]
}

// removePending subtracts an item from the pending counts.
func (q *Queue[T]) removePending(item T) {
	q.stats.Pending -= uint64(item.Count())
	q.stats.PendingBytes -= item.Bytes()
}

func (q *Queue[T]) oldestWaiting() uint64 { return q.added - uint64(q.waiting.items) + 1 }
