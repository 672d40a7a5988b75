package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/onread"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/within"
)

// An outbox has the encoded items of one signal, which wait for the receiver.
type outbox struct {
	queue   *queue.Queue[encoded]
	batch   int           // items of a request at most
	invalid atomic.Uint64 // items that were dropped before the queue
	sender  sendCloser
	closed  within.Once // of sender
	onRead  onread.Functions
}

// withoutDeadline is how long ForceFlush and Shutdown take at most if their context has no
// deadline.
const withoutDeadline = 10 * time.Second

// Stats are the counts of one moment: Accepted = Delivered + Failed + Dropped + Pending, also while
// spans end and are sent. The unit is a span or a log record.
type Stats struct {
	Accepted  uint64 // sampled spans that have ended, or log records
	Delivered uint64 // taken by the receiver
	Failed    uint64 // not taken by the receiver, for good
	// found the queue full, came after Shutdown or in a pause for the signal, or lacked their group, bytes or count
	Dropped uint64
	Pending uint64 // waiting or being sent; after Shutdown, given up

	PendingBytes int    // of Pending
	Unanswered   uint64 // of Failed: the receiver may have taken them nevertheless
	Retries      uint64 // requests that were sent again
}

// Lost is what will never arrive once the delivery is shut down.
func (s Stats) Lost() uint64 { return s.Accepted - s.Delivered }

// open starts the queue of a signal, whose items are called what in log lines and errors.
func (o *outbox) open(c Config, signal otlp.Signal, what string, unknownPause time.Duration) error {
	if err := c.check(); err != nil {
		return err
	}
	c.Logger = record.SafeLogger(c.Logger)
	vars := environ.NewReader(c.Logger)
	sender, to, err := c.sender(vars, signal)
	if err != nil {
		return err
	}
	o.sender = sender
	b := otlp.ReadBatch(vars, signal, c.QueueSize)
	o.batch = min(b.BatchSize, max(b.QueueSize/2, 1))
	o.queue = queue.New(queue.Config[encoded]{
		What: what, To: to, Logger: c.Logger,
		MaxCount: b.QueueSize, MaxBytes: cmp.Or(c.QueueBytes, defaultQueueBytes),
		BatchCount: b.BatchSize, BatchBytes: batchBytes, Delay: b.Delay, Timeout: b.Timeout,
		UnknownPause: unknownPause,
		Release:      encoded.release,
		Send:         queue.Encoded(appendRequest(), sender),
	})
	return nil
}

// encoded are items of one group in the queue. Spans are [otlpenc.Records] there, too: both are
// cut, and joined to requests, in the same way.
type encoded struct {
	items otlpenc.Records // retained
}

func (e encoded) release() { e.items.Release() }

// maxPart is how many bytes an item in the queue has, unless it is a single span or record.
const maxPart = 4 << 10

// itemOverhead is the memory of an item in the queue without its bytes.
const itemOverhead = 48

func (e encoded) Count() int { return e.items.Count }
func (e encoded) Bytes() int { return len(e.items.Bytes) + itemOverhead }

// Request returns the length of a request with these items alone. They never add more to one with
// others.
func (e encoded) Request() int { return e.items.RequestSize() }

// appendRequest returns a function that appends the request of a batch. Its calls share their
// memory.
func appendRequest() func(body []byte, batch []encoded) []byte {
	var all []otlpenc.Records
	return func(body []byte, batch []encoded) []byte {
		all = all[:0]
		for _, e := range batch {
			all = append(all, e.items)
		}
		body = otlpenc.AppendRequest(body, all)
		clear(all)
		return body
	}
}

var batches = sync.Pool{New: func() any { return new([]encoded) }}

// begin returns an empty list of items for the queue, whose memory add gives back.
func (o *outbox) begin() *[]encoded { return batches.Get().(*[]encoded) }

// append appends items in parts, the first one to the last part if that has room. Items without a
// group, bytes or a count are dropped and counted.
func (o *outbox) append(to *[]encoded, items otlpenc.Records) *[]encoded {
	if items.Group() == nil || len(items.Bytes) == 0 || items.Count < 1 {
		o.invalid.Add(uint64(max(items.Count, 1)))
		return to
	}
	for others := items; len(others.Bytes) > 0; {
		items, others = others.Cut(o.batch, maxPart)
		if n := len(*to); n == 0 || !(*to)[n-1].items.Join(items, o.batch, maxPart) {
			*to = append(*to, encoded{items.Retain()})
		}
	}
	return to
}

// add queues a list of items, or drops those for which the queue has no room.
func (o *outbox) add(batch *[]encoded) {
	o.queue.Add(*batch...)
	clear(*batch)
	*batch = (*batch)[:0]
	batches.Put(batch)
}

// OnRead registers a function that Stats, ForceFlush and Shutdown call first, on the caller's
// goroutine and without a lock. A provider that hands items over late registers it, so that they
// count, and are sent, if they ended before the call. Several functions may be registered. The
// function must not call these methods.
func (o *outbox) OnRead(f func()) { o.onRead.Add(f) }

// ForceFlush sends what waits. It returns when all that was accepted before the call is
// delivered or lost, with an error if some is lost or ctx ended. A ctx without a deadline gets one,
// of 10 seconds.
func (o *outbox) ForceFlush(ctx context.Context) error {
	o.onRead.Call()
	ctx, cancel := within.Bounded(ctx, withoutDeadline)
	defer cancel()
	if err := o.queue.Flush(ctx); err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Shutdown sends what waits and closes the connections. When ctx ends before that, it cancels the
// request under way and gives up the rest. A ctx without a deadline gets one, of 10 seconds.
// Further calls wait for the same end. Stats are final when it returns; the error says how much did
// not arrive.
func (o *outbox) Shutdown(ctx context.Context) error {
	o.onRead.Call()
	ctx, cancel := within.Bounded(ctx, withoutDeadline)
	defer cancel()
	err := o.queue.Shutdown(ctx)
	err = errors.Join(err,
		o.closed.Do(ctx, within.Grace, "closing the Sender",
			func(context.Context) error { return o.sender.Close() }))
	if err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Stats returns the counts.
func (o *outbox) Stats() Stats {
	o.onRead.Call()
	s, invalid := Stats(o.queue.Stats()), o.invalid.Load()
	s.Accepted += invalid
	s.Dropped += invalid
	return s
}
