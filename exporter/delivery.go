package exporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
)

// DefaultQueueSize is how many spans wait for delivery when neither
// [DeliveryConfig] nor OTEL_BSP_MAX_QUEUE_SIZE says otherwise: room for a
// second or two of a busy service while its backend restarts.
const DefaultQueueSize = otlp.DefaultQueueSize

// afterDeadline is how long a Shutdown whose context is over waits for the
// export that it has just cancelled, so that its report is complete.
const afterDeadline = time.Second

// DeliveryConfig configures [NewDelivery]. Batch size, schedule and timeouts
// come from the OTEL_BSP_* and OTEL_EXPORTER_OTLP_* variables.
type DeliveryConfig struct {
	QueueSize int          // spans that may wait; 0 means OTEL_BSP_MAX_QUEUE_SIZE or DefaultQueueSize
	Logger    *slog.Logger // nil means slog.Default()
}

// A Delivery is OpenTelemetry's batch span processor with the books kept: every
// span it accepts is delivered, failed, dropped or still pending. It is safe for
// concurrent use.
type Delivery struct {
	batch sdktrace.SpanProcessor
	exp   *watched
	size  uint64

	stopped atomic.Bool
}

var _ sdktrace.SpanProcessor = (*Delivery)(nil)

// DeliveryStats are a Delivery's counts, of one moment: Accepted = Delivered +
// Failed + Dropped + Pending, also while spans are accepted and delivered.
type DeliveryStats struct {
	Accepted  uint64 // sampled spans that were given to it
	Delivered uint64 // taken by the backend
	Failed    uint64 // not taken by the backend, after the exporter's own retries
	Dropped   uint64 // found the queue full, or came after Shutdown
	Pending   uint64 // waiting; after Shutdown, given up
}

// Lost is what will never arrive once the delivery is shut down.
func (s DeliveryStats) Lost() uint64 { return s.Accepted - s.Delivered }

// NewDelivery starts delivering to target.
func NewDelivery(target *Target, c DeliveryConfig) *Delivery {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	b := otlp.ReadBatch(environ.NewReader(c.Logger), c.QueueSize)
	exp := &watched{Target: target, log: c.Logger, done: make(chan struct{})}
	exp.life, exp.kill = context.WithCancel(context.Background())
	return &Delivery{
		exp:  exp,
		size: uint64(b.QueueSize),
		// The batch processor never finds its own queue full, where it would drop
		// without telling: OnEnd lets no more spans in than it holds. It reads the variables,
		// too, and believes impossible values: all are given.
		batch: sdktrace.NewBatchSpanProcessor(exp, sdktrace.WithMaxQueueSize(b.QueueSize), sdktrace.WithMaxExportBatchSize(b.BatchSize),
			sdktrace.WithBatchTimeout(max(b.Delay, time.Millisecond)), sdktrace.WithExportTimeout(b.Timeout)),
	}
}

// OnStart does nothing.
func (d *Delivery) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a span that is sampled, or drops it when the queue is full.
func (d *Delivery) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if d.exp.accept(d.size, d.stopped.Load()) {
		d.batch.OnEnd(s)
	}
}

// ForceFlush delivers what is queued. It returns an error when the backend did
// not take some of it.
func (d *Delivery) ForceFlush(ctx context.Context) error {
	failed := d.exp.counts().Failed
	if err := d.batch.ForceFlush(ctx); err != nil {
		return fmt.Errorf("exporter: flushing to %s: %w", d.exp.Name, err)
	}
	if n := d.exp.counts().Failed - failed; n > 0 {
		return fmt.Errorf("exporter: %d spans not delivered to %s: %w", n, d.exp.Name, d.exp.lastError())
	}
	return nil
}

// Shutdown delivers what is queued and closes the exporter. When ctx ends
// before that, what is under way is cancelled and what is left given up. Further
// calls do nothing. Stats are final when it returns.
func (d *Delivery) Shutdown(ctx context.Context) error {
	if d.stopped.Swap(true) {
		return nil
	}
	defer d.exp.kill()
	err := d.batch.Shutdown(ctx)
	if ctx.Err() != nil {
		d.exp.kill()
		select {
		case <-d.exp.done:
		case <-time.After(afterDeadline):
		}
		return fmt.Errorf("exporter: delivering to %s: %w", d.exp.Name, context.Cause(ctx))
	}
	return err
}

// Stats returns the counts.
func (d *Delivery) Stats() DeliveryStats { return d.exp.counts() }

// watched is an exporter that counts, and that reports changes of the backend's
// state instead of every failure: the batch processor would hand each one to
// OpenTelemetry's error handler.
type watched struct {
	*Target
	log  *slog.Logger
	life context.Context //nolint:containedctx // the exporter's lifetime, which Shutdown ends, not a request's
	kill context.CancelFunc
	done chan struct{} // closed by Shutdown, after the last export

	mu      sync.Mutex // guards what follows
	stats   DeliveryStats
	err     error // last failure
	failing bool
	lost    uint64 // since it began to fail
	closed  bool
}

func (w *watched) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.life, cancel)()

	err := w.Target.ExportSpans(ctx, spans)
	lost := uint64(0)
	if err != nil {
		lost = uint64(len(spans))
		if n, partial := rejected(err); partial {
			lost = min(lost, n)
		}
	}
	w.settle(err, uint64(len(spans)), lost)
	return nil
}

// accept counts a span and reports whether it is to be delivered: not when so many
// wait or the delivery has stopped.
func (w *watched) accept(limit uint64, stopped bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Accepted++
	if stopped || w.stats.Pending >= limit {
		w.stats.Dropped++
		return false
	}
	w.stats.Pending++
	return true
}

func (w *watched) counts() DeliveryStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// settle counts what became of n spans, and logs when the backend begins or ceases
// to fail.
func (w *watched) settle(err error, n, lost uint64) {
	if w.discreet != nil {
		err = w.discreet(err)
	}
	w.mu.Lock()
	w.stats.Delivered += n - lost
	w.stats.Failed += lost
	w.stats.Pending -= n
	failed := w.failing
	w.failing = err != nil
	w.lost += lost
	sum := w.lost
	if err == nil {
		w.lost = 0
	} else {
		w.err = err
	}
	w.mu.Unlock()
	// Without the lock: a handler may take its time, ask for Stats, or make spans itself.
	// Exports come one at a time, and so do the lines.
	switch {
	case err == nil && failed:
		w.log.Info("perfline: spans are delivered again", "to", w.Name, "lost", sum)
	case err != nil && !failed:
		w.log.Warn("perfline: spans are not delivered; requests are not affected, what does not fit the queue is dropped and counted",
			"to", w.Name, "error", err)
	}
}

func (w *watched) lastError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *watched) Shutdown(ctx context.Context) error {
	w.mu.Lock()
	closed := w.closed
	w.closed = true
	w.mu.Unlock()
	if closed {
		return nil
	}
	defer close(w.done)
	return w.Target.Shutdown(ctx)
}

// The OTLP exporters report a partial success as an error of an internal type
// whose text is all one can get at.
var partialSuccess = regexp.MustCompile(`(?s)^OTLP partial success: .* \((\d+) spans rejected\)$`)

// rejected is how many spans were turned down when err is nothing but a partial
// success, which is no failure of the rest; none are when it is only a warning.
func rejected(err error) (n uint64, partial bool) {
	all := []error{err}
	if joined := (interface{ Unwrap() []error })(nil); errors.As(err, &joined) {
		all = joined.Unwrap()
	}
	for _, e := range all {
		m := partialSuccess.FindStringSubmatch(e.Error())
		if m == nil {
			return 0, false
		}
		count, _ := strconv.ParseUint(m[1], 10, 64) // digits only; out of range means all
		n += count
	}
	return n, true
}
