package outputs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/within"
)

// Snapshots is a span processor. Snapshots passes spans to the console, or to the program's
// exporter. The queue and the counts work as in [exporter.Delivery]. The queue does not limit bytes
// and does not retry. The exporter may retry.
//
// The SDK's batch processor would cause these problems:
//   - Shutdown drops spans without a count.
//   - Some sizes of OTEL_BSP_* cause a panic.
//   - A delay of 0 keeps a CPU busy.
type Snapshots struct {
	queue    *queue.Queue[*snapshot]
	exporter sdktrace.SpanExporter
	shutdown within.Once // of exporter
}

var _ sdktrace.SpanProcessor = (*Snapshots)(nil)

// NewSnapshots starts a processor for e. The variables OTEL_BSP_* configure the queue and the
// batches. If queueSize is not 0, queueSize overrides the variable of the queue size. name is the
// name of e in log lines. The caller must call [Snapshots.Shutdown]. Shutdown also shuts e down.
func NewSnapshots(vars *environ.Reader, e sdktrace.SpanExporter, name string, queueSize int,
	log *slog.Logger) *Snapshots {
	b := otlp.ReadBatch(vars, otlp.Traces, queueSize)
	return &Snapshots{exporter: e, queue: queue.New(queue.Config[*snapshot]{
		What: "spans", To: name, Logger: log,
		MaxCount: b.QueueSize, BatchCount: b.BatchSize, Delay: b.Delay, Timeout: b.Timeout,
		Send: func(ctx context.Context, batch []*snapshot) queue.Answer {
			spans := make([]sdktrace.ReadOnlySpan, len(batch)) // e may retain the slice
			for i, s := range batch {
				spans[i] = s.ReadOnlySpan
			}
			return queue.Answer{Err: e.ExportSpans(ctx, spans)}
		},
	})}
}

// A snapshot is a span in the queue. The queue holds pointers, because queues of pointers share 30
// kB of code.
type snapshot struct{ sdktrace.ReadOnlySpan }

func (*snapshot) Count() int   { return 1 }
func (*snapshot) Bytes() int   { return 0 }
func (*snapshot) Request() int { return 0 } // the exporter makes the requests

// OnStart does nothing.
func (*Snapshots) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a sampled span. If the queue is full, OnEnd drops the span. OnEnd never blocks.
func (s *Snapshots) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		s.queue.Add(&snapshot{span})
	}
}

// ForceFlush exports the queued spans. ForceFlush returns an error if spans are lost or if ctx
// ends.
func (s *Snapshots) ForceFlush(ctx context.Context) error {
	if err := s.queue.Flush(ctx); err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Shutdown exports the queued spans until ctx ends, and then shuts the exporter down. Further calls
// wait for the first call and return the same error.
func (s *Snapshots) Shutdown(ctx context.Context) error {
	err := s.queue.Shutdown(ctx)
	what := fmt.Sprintf("the shutdown of %T", s.exporter)
	err = errors.Join(err, s.shutdown.Do(ctx, within.Grace, what, s.exporter.Shutdown))
	if err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Stats returns the counts of spans.
func (s *Snapshots) Stats() exporter.Stats { return exporter.Stats(s.queue.Stats()) }
