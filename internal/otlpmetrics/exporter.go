// Package otlpmetrics sends metrics over OTLP: it encodes them, and delivers them through the queue that spans have.
//
// The SDK's exporters for OTLP encode to the same fields. They are not used here because they bring the modules of gRPC's gateway into
// every program, 2 MB of code, and a second way of retrying and of reporting errors.
package otlpmetrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
)

// Config configures [New]. All fields but Logger have to be set.
type Config struct {
	Sender interface {
		queue.Sender
		io.Closer
	}
	To          string             // the receiver, in log lines and errors; no secrets
	Resource    *resource.Resource // of all metrics, in place of the provider's
	Temporality metric.TemporalitySelector
	Aggregation metric.AggregationSelector
	Timeout     time.Duration // how long delivery of one export is tried, with all its attempts
	Logger      *slog.Logger  // nil means slog.Default()
}

// Bounds of what waits for the receiver. The oldest go first: later exports have newer values of the same metrics.
const (
	maxPoints = 1 << 20
	maxBytes  = 8 << 20
)

// An Exporter is the exporter of a metric reader. Export does not wait for the receiver: ForceFlush and Shutdown do.
type Exporter struct {
	c     Config
	queue *queue.Queue[*export]
}

var _ metric.Exporter = (*Exporter)(nil)

// New returns an exporter. The caller, or its reader, has to shut it down, which closes the sender.
func New(c Config) *Exporter {
	return &Exporter{c: c, queue: queue.New(queue.Config[*export]{
		What: "metric points", To: c.To, Logger: c.Logger,
		MaxCount: maxPoints, MaxBytes: maxBytes, BatchCount: 1, DropOldest: true, Timeout: c.Timeout, UnknownPause: otlp.UnknownPause,
		Send: func(ctx context.Context, batch []*export) queue.Answer { return c.Sender.Send(ctx, batch[0].body) },
	})}
}

// An export is a request in the queue. It travels alone. It is a pointer there: queues of pointers share their code, 30 kB.
type export struct {
	body   []byte
	points int
}

func (e *export) Count() int   { return e.points }
func (e *export) Bytes() int   { return len(e.body) }
func (e *export) Request() int { return len(e.body) }

// Temporality returns what metrics of a kind of instrument count from.
func (e *Exporter) Temporality(k metric.InstrumentKind) metricdata.Temporality {
	return e.c.Temporality(k)
}

// Aggregation returns how measurements of a kind of instrument are summed up.
func (e *Exporter) Aggregation(k metric.InstrumentKind) metric.Aggregation { return e.c.Aggregation(k) }

// Export queues metrics. It returns an error for metrics that OTLP does not have, which are left out.
func (e *Exporter) Export(_ context.Context, m *metricdata.ResourceMetrics) error {
	own := *m
	own.Resource = e.c.Resource
	body, points, err := appendRequest(nil, &own)
	if points > 0 {
		e.queue.Add(&export{body, points})
	}
	return err
}

// Stats returns the books, in metric points.
func (e *Exporter) Stats() queue.Stats { return e.queue.Stats() }

// ForceFlush delivers what was exported before, and returns an error if some of it is lost or ctx ended.
func (e *Exporter) ForceFlush(ctx context.Context) error { return wrap(e.queue.Flush(ctx)) }

// Shutdown delivers what was exported, within ctx, and closes the sender. Further calls return the same error.
func (e *Exporter) Shutdown(ctx context.Context) error {
	return wrap(errors.Join(e.queue.Shutdown(ctx), e.c.Sender.Close()))
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("exporter: %w", err)
}
