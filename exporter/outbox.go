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
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/internal/within"
)

// An outbox queues the encoded items of one signal for the receiver.
type outbox struct {
	queue   *queue.Queue[encoded]
	batch   int           // maximum items of a request
	invalid atomic.Uint64 // items that were dropped before the queue
	sender  otlp.SendCloser
	turns   sync.Mutex    // a sender has one caller at a time
	to      string        // the name of the receiver
	spool   *mirror.Spool // nil without a black box
	closed  within.Once   // closes sender
	onRead  onread.Functions
}

// withoutDeadline bounds ForceFlush and Shutdown if their context has no deadline.
const withoutDeadline = 10 * time.Second

// Stats counts spans or log records. The counts are consistent at every moment: Accepted =
// Delivered + Failed + Dropped + Pending.
type Stats struct {
	Accepted  uint64 // sampled spans that have ended, or log records
	Delivered uint64 // acknowledged by the receiver
	Failed    uint64 // given up: refused by the receiver, or not delivered in time
	Dropped   uint64 // at a full queue, after Shutdown, in a pause for the signal, or invalid
	Pending   uint64 // waiting or being sent; after Shutdown, given up

	PendingBytes int    // memory of the pending items
	Unanswered   uint64 // failed items that the receiver may have accepted
	Retries      uint64 // requests that were sent again
}

// Lost returns the number of lost spans or log records. Call Lost after Shutdown. Before Shutdown,
// Lost also counts pending spans or log records.
func (s Stats) Lost() uint64 { return s.Accepted - s.Delivered }

// open starts the queue of a signal. Log lines and errors call the items what.
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
	o.sender, o.to = sender, to
	b := otlp.ReadBatch(vars, signal, c.QueueSize)
	o.batch = min(b.BatchSize, max(b.QueueSize/2, 1))
	o.queue = queue.New(queue.Config[encoded]{
		What: what, To: to, Logger: c.Logger,
		MaxCount: b.QueueSize, MaxBytes: cmp.Or(c.QueueBytes, defaultQueueBytes),
		BatchCount: b.BatchSize, BatchBytes: batchBytes, Delay: b.Delay, Timeout: b.Timeout,
		UnknownPause: unknownPause,
		Release:      o.release,
		Send:         queue.Encoded(appendRequest(), inTurn{o}),
	})
	return nil
}

// An encoded is an item of the queue: retained spans or log records of one group.
type encoded struct {
	items   otlpenc.Records
	receipt uint64 // of the spool; 0 without one
}

const (
	maxPart      = 4 << 10 // bytes of an item in the queue; a single span may be larger
	itemOverhead = 48      // memory of an item in the queue beyond its bytes
)

func (e encoded) Count() int { return e.items.Count }
func (e encoded) Bytes() int { return len(e.items.Bytes) + itemOverhead }

// Request returns the length in bytes of a request that contains only the items of e. The items of
// e add at most this length to a larger request.
func (e encoded) Request() int { return e.items.RequestSize() }

// appendRequest returns a function that appends the request of a batch. Its calls share scratch
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

// begin returns an empty list of items from the pool. add returns the list to the pool.
func (o *outbox) begin() *[]encoded { return batches.Get().(*[]encoded) }

// append appends items in parts, and fills the last part of the list first. It drops and counts
// items without a group, bytes or a count.
func (o *outbox) append(to *[]encoded, items otlpenc.Records) *[]encoded {
	if items.Group() == nil || len(items.Bytes) == 0 || items.Count < 1 {
		o.invalid.Add(uint64(max(items.Count, 1)))
		return to
	}
	for rest := items; len(rest.Bytes) > 0; {
		items, rest = rest.Cut(o.batch, maxPart)
		if n := len(*to); n == 0 || !(*to)[n-1].items.Join(items, o.batch, maxPart) {
			*to = append(*to, encoded{items: items.Retain()})
		}
	}
	return to
}

// add queues a list of items, or drops items without room in the queue.
func (o *outbox) add(batch *[]encoded) {
	if o.spool != nil {
		o.store(*batch)
	}
	o.queue.Add(*batch...)
	clear(*batch)
	*batch = (*batch)[:0]
	batches.Put(batch)
}

// OnRead registers the function f. Stats, ForceFlush and Shutdown call f before any other step. f
// runs on the caller's goroutine and without a lock. f must not call Stats, ForceFlush or Shutdown.
// For example, a provider that buffers ended spans registers a function that queues these spans.
// Stats then counts these spans. ForceFlush and Shutdown then send these spans. Several functions
// may be registered.
func (o *outbox) OnRead(f func()) { o.onRead.Add(f) }

// ForceFlush sends the waiting spans or log records (items). ForceFlush returns when all items that
// were accepted before the call are delivered or lost. ForceFlush returns an error if items are
// lost or ctx ends. If ctx has no deadline, the timeout is 10 seconds.
func (o *outbox) ForceFlush(ctx context.Context) error {
	o.onRead.Call()
	ctx, cancel := within.Bounded(ctx, withoutDeadline)
	defer cancel()
	if err := o.queue.Flush(ctx); err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Shutdown sends the waiting spans or log records (items) and closes the connections. If ctx ends
// first, Shutdown cancels the current request and drops the remaining items. If ctx has no
// deadline, the timeout is 10 seconds. Further calls wait for the end of the first call. Stats are
// final when Shutdown returns. The error contains the number of undelivered items.
func (o *outbox) Shutdown(ctx context.Context) error {
	o.onRead.Call()
	ctx, cancel := within.Bounded(ctx, withoutDeadline)
	defer cancel()
	closeSender := func(context.Context) error { return o.sender.Close() }
	err := errors.Join(o.queue.Shutdown(ctx),
		o.closed.Do(ctx, within.Grace, "closing the Sender", closeSender))
	if err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Stats returns the counts since the start of the delivery.
func (o *outbox) Stats() Stats {
	o.onRead.Call()
	s, invalid := Stats(o.queue.Stats()), o.invalid.Load()
	s.Accepted += invalid
	s.Dropped += invalid
	return s
}
