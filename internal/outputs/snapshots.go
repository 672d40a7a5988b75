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

// Snapshots is a span processor for an exporter of the SDK's spans: the console, or the program's
// exporter. Its queue and counts are those of [exporter.Delivery], without a bound in bytes. The
// exporter retries.
//
// The SDK's batch processor would drop spans at its Shutdown without a count, panic for some sizes
// of OTEL_BSP_*, and keep a CPU busy for a delay of 0.
type Snapshots struct {
	queue    *queue.Queue[*snapshot]
	exporter sdktrace.SpanExporter
	shutdown within.Once // of exporter
}

var _ sdktrace.SpanProcessor = (*Snapshots)(nil)

// NewSnapshots starts a processor for e. OTEL_BSP_* set the sizes of the queue and of a batch; a
// queueSize other than 0 wins. Log lines call e by name. The caller must shut the processor down,
// which shuts e down.
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

// OnEnd queues a sampled span, or drops the span when the queue is full. OnEnd never blocks.
func (s *Snapshots) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		s.queue.Add(&snapshot{span})
	}
}

// ForceFlush exports the queue. ForceFlush returns an error if spans are lost or ctx ends.
func (s *Snapshots) ForceFlush(ctx context.Context) error {
	if err := s.queue.Flush(ctx); err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Shutdown exports the queue within ctx, and shuts the exporter down. Further calls wait for the
// first call and return the same error.
func (s *Snapshots) Shutdown(ctx context.Context) error {
	err := s.queue.Shutdown(ctx)
	what := fmt.Sprintf("the shutdown of %T", s.exporter)
	err = errors.Join(err, s.shutdown.Do(ctx, within.Grace, what, s.exporter.Shutdown))
	if err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Stats returns the counts.
func (s *Snapshots) Stats() exporter.Stats { return exporter.Stats(s.queue.Stats()) }
