// Package otlpmetrics encodes metrics as OTLP, and delivers the metrics through the queue of
// package queue.
//
// The SDK's OTLP exporters encode the same fields. perfline does not use these exporters, because
// the exporters add 2 MB of code with the modules of gRPC's gateway. The exporters also retry and
// report errors in another way.
package otlpmetrics

import (
	"cmp"
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

// Config configures [New]. All fields except Logger are required.
type Config struct {
	Sender interface {
		queue.Sender
		io.Closer
	}
	To          string             // name of the receiver in log lines and errors; no secrets
	Resource    *resource.Resource // of all metrics; replaces the provider's resource
	Temporality metric.TemporalitySelector
	Aggregation metric.AggregationSelector
	Timeout     time.Duration // limit for all attempts to deliver one export
	Logger      *slog.Logger  // nil: slog.Default()
}

// Bounds of the queue. The queue drops the oldest exports first: later exports contain newer values
// of the same metrics.
const (
	maxPoints = 1 << 20
	maxBytes  = 8 << 20
)

// An Exporter exports the metrics of a metric reader. Export queues metrics, and does not wait for
// the receiver. ForceFlush and Shutdown wait for the receiver.
type Exporter struct {
	c         Config
	queue     *queue.Queue[*export]
	sizeLimit int // bytes of a request, after a refusal; 0: none. Only send uses it
}

var _ metric.Exporter = (*Exporter)(nil)

// New returns an exporter. The caller or the metric reader must call [Exporter.Shutdown], which
// closes c.Sender.
func New(c Config) *Exporter {
	e := &Exporter{c: c}
	e.queue = queue.New(queue.Config[*export]{
		What: "metric points", To: c.To, Logger: c.Logger,
		MaxCount: maxPoints, MaxBytes: maxBytes, BatchCount: 1, DropOldest: true,
		Timeout: c.Timeout, UnknownPause: otlp.UnknownPause,
		Send: func(ctx context.Context, b []*export) queue.Answer { return e.send(ctx, b[0]) },
	})
	return e
}

// An export is an item of the queue. The queue holds pointers, because queues of pointers share
// their code, 30 kB.
type export struct {
	points, bytes int
	requests      []request // not settled yet; one at first
	accepted      bool      // the receiver has accepted a request of this export
	rejected      int64     // points that the receiver rejected
	message       string    // the reason
}

// A request is encoded metrics.
type request struct {
	body   []byte
	points int
}

func (e *export) Count() int   { return e.points }
func (e *export) Bytes() int   { return e.bytes }
func (e *export) Request() int { return e.bytes }

// Bounds of a request with several points, in bytes.
const (
	maxRequest   = 3 << 20  // gRPC receivers accept 4 MiB by default
	minSizeLimit = 64 << 10 // a receiver that refuses smaller requests has another reason
)

// send sends the unsettled requests of x. If the receiver accepts one request and refuses another,
// the points of the refused request count as rejected. If the receiver does not answer the other
// request in time, all points of x count as lost.
func (e *Exporter) send(ctx context.Context, x *export) queue.Answer {
	for len(x.requests) > 0 {
		r := x.requests[0]
		if e.sizeLimit > 0 && len(r.body) > e.sizeLimit && x.split() {
			continue
		}
		a := e.c.Sender.Send(ctx, r.body)
		if a.Err != nil && a.TooLarge {
			if e.sizeLimit = max(len(r.body)/2, minSizeLimit); len(r.body) <= minSizeLimit {
				e.sizeLimit = 0
			}
			if e.sizeLimit > 0 && x.split() {
				continue
			}
		}
		switch {
		case a.Err == nil:
			x.accepted = true
			x.rejected += min(a.Rejected, int64(r.points))
			x.message = cmp.Or(x.message, a.Message)
		case a.Retry, !x.accepted && len(x.requests) == 1:
			return a
		default:
			x.rejected += int64(r.points)
			x.message = a.Err.Error()
		}
		x.requests = x.requests[1:]
	}
	return queue.Answer{Rejected: x.rejected, Message: x.message}
}

// split splits the first request in two. It returns false for a request with only one point.
func (e *export) split() bool {
	first, second, ok := split(e.requests[0].body)
	if ok {
		e.requests = append([]request{first, second}, e.requests[1:]...)
	}
	return ok
}

// Temporality returns the temporality for instruments of kind k.
func (e *Exporter) Temporality(k metric.InstrumentKind) metricdata.Temporality {
	return e.c.Temporality(k)
}

// Aggregation returns the aggregation for instruments of kind k.
func (e *Exporter) Aggregation(k metric.InstrumentKind) metric.Aggregation {
	return e.c.Aggregation(k)
}

// Export queues metrics. Export omits metrics that OTLP cannot express. The error then names the
// last omitted metric.
func (e *Exporter) Export(_ context.Context, m *metricdata.ResourceMetrics) error {
	own := *m
	own.Resource = e.c.Resource
	body, points, err := appendRequest(nil, &own)
	if points > 0 {
		e.add(request{body, points})
	}
	return err
}

// Stats returns the counts of the queue, in metric points.
func (e *Exporter) Stats() queue.Stats { return e.queue.Stats() }

// add queues a request, in parts if the request is large.
func (e *Exporter) add(r request) {
	if len(r.body) > maxRequest {
		if first, second, ok := split(r.body); ok {
			e.add(first)
			e.add(second)
			return
		}
	}
	e.queue.Add(&export{points: r.points, bytes: len(r.body), requests: []request{r}})
}

// ForceFlush delivers the queued metrics. ForceFlush returns an error if metrics are lost or if ctx
// ends.
func (e *Exporter) ForceFlush(ctx context.Context) error { return wrap(e.queue.Flush(ctx)) }

// Shutdown delivers the queued metrics until ctx ends, and closes the sender. Further calls return
// the same error for lost metrics.
func (e *Exporter) Shutdown(ctx context.Context) error {
	return wrap(errors.Join(e.queue.Shutdown(ctx), e.c.Sender.Close()))
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("exporter: %w", err)
}
