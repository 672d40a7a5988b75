package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
)

// A Delivery is a span processor that sends spans over OTLP. The goroutine that ends a span encodes it;
// from then on, only its bytes wait. Methods may be called concurrently.
type Delivery struct {
	groups  otlpenc.Groups
	queue   *queue.Queue[encoded]
	blocks  blocks        // of the queue
	batch   int           // spans of a request at most
	invalid atomic.Uint64 // spans that were dropped before the queue
	close   func() error  // closes the sender once, and returns the same error again
}

// withoutDeadline is how long ForceFlush and Shutdown take at most if their context has no deadline.
const withoutDeadline = 10 * time.Second

var _ sdktrace.SpanProcessor = (*Delivery)(nil)

// Stats are the counts of one moment: Accepted = Delivered + Failed + Dropped + Pending, also while
// spans end and are sent.
type Stats struct {
	Accepted  uint64 // sampled spans that have ended
	Delivered uint64 // taken by the receiver
	Failed    uint64 // not taken by the receiver, for good
	Dropped   uint64 // found the queue full, ended after Shutdown, or were given to Accept without what they need
	Pending   uint64 // waiting or being sent; after Shutdown, given up

	PendingBytes int    // of Pending
	Unanswered   uint64 // of Failed: the receiver may have taken them nevertheless
	Retries      uint64 // requests that were sent again
}

// Lost is what will never arrive once the delivery is shut down.
func (s Stats) Lost() uint64 { return s.Accepted - s.Delivered }

// NewDelivery starts a delivery that c and the variables describe: OTEL_EXPORTER_OTLP_* and OTEL_BSP_*. It does
// not connect. Wrong fields are errors, and so are variables without which nothing can be sent. Other
// wrong variables are one line each in the log, and their defaults count. The caller has to shut the
// delivery down, as a provider does.
func NewDelivery(c Config) (*Delivery, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	vars := environ.NewReader(c.Logger)
	sender, to, err := c.sender(vars)
	if err != nil {
		return nil, err
	}
	d := &Delivery{close: sync.OnceValue(sender.Close)}
	b := otlp.ReadBatch(vars, c.QueueSize)
	d.batch = min(b.BatchSize, max(b.QueueSize/2, 1))
	var batch []otlpenc.Spans // of the request that is encoded
	d.queue = queue.New(queue.Config[encoded]{
		What: "spans", To: to, Logger: c.Logger,
		MaxCount: b.QueueSize, MaxBytes: cmp.Or(c.QueueBytes, DefaultQueueBytes),
		BatchCount: b.BatchSize, BatchBytes: batchBytes, Delay: b.Delay, Timeout: b.Timeout,
		Keep: d.blocks.keep, Release: d.blocks.release,
		Send: queue.Encoded(func(body []byte, items []encoded) []byte {
			batch = batch[:0]
			for _, item := range items {
				batch = append(batch, item.spans)
			}
			body = otlpenc.AppendRequest(body, batch)
			clear(batch)
			return body
		}, sender),
	})
	return d, nil
}

// encoded are spans in the queue.
type encoded struct {
	spans otlpenc.Spans
	block *block // has the bytes; nil: they have an allocation of their own
}

// itemOverhead is the memory of an item in the queue without its bytes.
const itemOverhead = 56

func (e encoded) Count() int { return e.spans.Count }
func (e encoded) Bytes() int { return len(e.spans.Bytes) + itemOverhead }

// Request returns the length of a request with these spans alone. They never add more to one with others.
func (e encoded) Request() int { return e.spans.RequestSize() }

// OnStart does nothing.
func (d *Delivery) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a span that is sampled, or drops it when the queue is full. It never blocks. It uses the memory of spans
// that have been delivered or lost. It allocates for a span of more than 4 KiB, and when more spans wait than before.
func (d *Delivery) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		d.groups.Encode(s, d.Accept)
	}
}

// Accept queues a copy of spans that are encoded already, or drops them when the queue is full. The caller may change the
// bytes after the call. Accept never blocks, and allocates only when [Delivery.OnEnd] would. Spans of more than 4 KiB together
// are queued, and dropped, in parts. Spans without a group, bytes or a count of at least 1 are dropped, too, and count as at
// least one.
func (d *Delivery) Accept(s otlpenc.Spans) {
	if s.Group == nil || len(s.Bytes) == 0 || s.Count < 1 {
		d.invalid.Add(uint64(max(s.Count, 1)))
		return
	}
	for others := s; len(others.Bytes) > 0; {
		s, others = others.Cut(d.batch, maxShared)
		if len(s.Bytes) > maxShared {
			s.Bytes = slices.Clone(s.Bytes) // not under the queue's lock
		}
		d.queue.Add(encoded{spans: s})
	}
}

// ForceFlush sends what waits. It returns when all spans that were accepted before the call are
// delivered or lost, with an error if some are lost or ctx ended. A ctx without a deadline gets one,
// of 10 seconds.
func (d *Delivery) ForceFlush(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := d.queue.Flush(ctx); err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Shutdown sends what waits and closes the connections. When ctx ends before that, it cancels the request
// under way and gives up the rest. A ctx without a deadline gets one, of 10 seconds. Further calls
// wait for the same end. Stats are final when it returns; the error says how many spans did not arrive.
func (d *Delivery) Shutdown(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := errors.Join(d.queue.Shutdown(ctx), d.close()); err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// bounded gives ctx a deadline unless it has one. So a receiver that is away cannot delay the
// program's end by the time of all batches together.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, withoutDeadline)
}

// Stats returns the counts.
func (d *Delivery) Stats() Stats {
	s, invalid := Stats(d.queue.Stats()), d.invalid.Load()
	s.Accepted += invalid
	s.Dropped += invalid
	return s
}
