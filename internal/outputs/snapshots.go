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

// Snapshots is a span processor for an exporter that takes the SDK's spans: the console, or one of
// the program. It has the queue and the counts of [exporter.Delivery], but no bound in bytes, and
// leaves retries to the exporter.
//
// The SDK's batch processor is not used. It drops spans at its Shutdown without a count, panics for
// some sizes of OTEL_BSP_* and keeps a CPU busy for a delay of 0. With one queue, the books of all
// exporters are the same.
type Snapshots struct {
	queue    *queue.Queue[*snapshot]
	exporter sdktrace.SpanExporter
	shutdown within.Once // of exporter
}

var _ sdktrace.SpanProcessor = (*Snapshots)(nil)

// NewSnapshots starts a processor for e. OTEL_BSP_* and queueSize, if it is not 0, say how many
// spans wait and travel together. Messages call e by name. The caller has to shut the processor
// down, which shuts e down.
func NewSnapshots(vars *environ.Reader, e sdktrace.SpanExporter, name string, queueSize int,
	log *slog.Logger) *Snapshots {
	b := otlp.ReadBatch(vars, otlp.Traces, queueSize)
	return &Snapshots{exporter: e, queue: queue.New(queue.Config[*snapshot]{
		What: "spans", To: name, Logger: log,
		MaxCount: b.QueueSize, BatchCount: b.BatchSize, Delay: b.Delay, Timeout: b.Timeout,
		Send: func(ctx context.Context, batch []*snapshot) queue.Answer {
			spans := make([]sdktrace.ReadOnlySpan, len(batch)) // the exporter may keep it
			for i, s := range batch {
				spans[i] = s.ReadOnlySpan
			}
			return queue.Answer{Err: e.ExportSpans(ctx, spans)}
		},
	})}
}

// A snapshot is a span in the queue. It is a pointer there: queues of pointers share their code, 30
// kB.
type snapshot struct{ sdktrace.ReadOnlySpan }

func (*snapshot) Count() int { return 1 }
func (*snapshot) Bytes() int { return 0 }

// Request returns 0: the exporter makes the requests.
func (*snapshot) Request() int { return 0 }

// OnStart does nothing.
func (*Snapshots) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a span that is sampled, or drops it when the queue is full. It never blocks.
func (s *Snapshots) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		s.queue.Add(&snapshot{span})
	}
}

// ForceFlush exports what waits, and returns an error if some of it is lost or ctx ended.
func (s *Snapshots) ForceFlush(ctx context.Context) error {
	if err := s.queue.Flush(ctx); err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Shutdown exports what waits, within ctx, and shuts the exporter down. Further calls wait for the
// same end and return the same error.
func (s *Snapshots) Shutdown(ctx context.Context) error {
	err := s.queue.Shutdown(ctx)
	err = errors.Join(err,
		s.shutdown.Do(ctx, within.Grace, fmt.Sprintf("the shutdown of %T", s.exporter),
			s.exporter.Shutdown))
	if err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// Stats returns the counts.
func (s *Snapshots) Stats() exporter.Stats { return exporter.Stats(s.queue.Stats()) }
