// Package otlpmetrics sends metrics over OTLP: it encodes them, and delivers them through the queue
// that spans have.
//
// The SDK's exporters for OTLP encode to the same fields. They are not used here because they bring
// the modules of gRPC's gateway into every program, 2 MB of code, and a second way of retrying and
// of reporting errors.
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

// Bounds of what waits for the receiver. The oldest go first: later exports have newer values of
// the same metrics.
const (
	maxPoints = 1 << 20
	maxBytes  = 8 << 20
)

// An Exporter is the exporter of a metric reader. Export does not wait for the receiver: ForceFlush
// and Shutdown do.
type Exporter struct {
	c     Config
	queue *queue.Queue[*export]
	// bytes of a request that the receiver takes, as far as it has refused larger ones; 0: it has not. The queue's goroutine owns it
	most int
}

var _ metric.Exporter = (*Exporter)(nil)

// New returns an exporter. The caller, or its reader, has to shut it down, which closes the sender.
func New(c Config) *Exporter {
	e := &Exporter{c: c}
	e.queue = queue.New(queue.Config[*export]{
		What: "metric points", To: c.To, Logger: c.Logger,
		MaxCount: maxPoints, MaxBytes: maxBytes, BatchCount: 1, DropOldest: true,
		Timeout: c.Timeout, UnknownPause: otlp.UnknownPause,
		Send: func(ctx context.Context,
			batch []*export) queue.Answer {
			return e.send(ctx, batch[0])
		},
	})
	return e
}

// An export is what the queue sends at once. It is a pointer in the queue: queues of pointers share
// their code, 30 kB.
type export struct {
	points, bytes int
	requests      []request // that the receiver has not settled; one at first
	taken         bool      // the receiver has taken one
	rejected      int64     // points that it has turned down
	message       string    // why
}

// A request is encoded metrics.
type request struct {
	body   []byte
	points int
}

func (e *export) Count() int   { return e.points }
func (e *export) Bytes() int   { return e.bytes }
func (e *export) Request() int { return e.bytes }

// Bounds of a request that has several points, in bytes.
const (
	maxRequest = 3 << 20  // receivers over gRPC take 4 MiB by default
	minMost    = 64 << 10 // who refuses that has another reason than the size
)

// send sends what the receiver has not settled, in requests that it takes. Where it took one and
// does not answer the next in time, all of them count as lost.
func (e *Exporter) send(ctx context.Context, x *export) queue.Answer {
	for len(x.requests) > 0 {
		r := x.requests[0]
		if e.most > 0 && len(r.body) > e.most && x.split() {
			continue
		}
		a := e.c.Sender.Send(ctx, r.body)
		if a.Err != nil && a.TooLarge {
			if e.most = max(len(r.body)/2, minMost); len(r.body) <= minMost {
				e.most = 0
			}
			if e.most > 0 && x.split() {
				continue
			}
		}
		switch {
		case a.Err == nil:
			x.taken = true
			x.rejected += min(a.Rejected, int64(r.points))
			x.message = cmp.Or(x.message, a.Message)
		case a.Retry, !x.taken && len(x.requests) == 1:
			return a
		default:
			x.rejected += int64(r.points)
			x.message = a.Err.Error()
		}
		x.requests = x.requests[1:]
	}
	return queue.Answer{Rejected: x.rejected, Message: x.message}
}

// split makes two requests of the first one. It returns false if that has one point only.
func (e *export) split() bool {
	first, second, ok := split(e.requests[0].body)
	if ok {
		e.requests = append([]request{first, second}, e.requests[1:]...)
	}
	return ok
}

// Temporality returns what metrics of a kind of instrument count from.
func (e *Exporter) Temporality(k metric.InstrumentKind) metricdata.Temporality {
	return e.c.Temporality(k)
}

// Aggregation returns how measurements of a kind of instrument are summed up.
func (e *Exporter) Aggregation(
	k metric.InstrumentKind) metric.Aggregation {
	return e.c.Aggregation(k)
}

// Export queues metrics. It returns an error for metrics that OTLP does not have, which are left
// out.
func (e *Exporter) Export(_ context.Context, m *metricdata.ResourceMetrics) error {
	own := *m
	own.Resource = e.c.Resource
	body, points, err := appendRequest(nil, &own)
	if points > 0 {
		e.add(request{body, points})
	}
	return err
}

// Stats returns the books, in metric points.
func (e *Exporter) Stats() queue.Stats { return e.queue.Stats() }

// add adds a request to the queue, in parts if it is large.
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

// ForceFlush delivers what was exported before, and returns an error if some of it is lost or ctx
// ended.
func (e *Exporter) ForceFlush(ctx context.Context) error { return wrap(e.queue.Flush(ctx)) }

// Shutdown delivers what was exported, within ctx, and closes the sender. Further calls return the
// same error.
func (e *Exporter) Shutdown(ctx context.Context) error {
	return wrap(errors.Join(e.queue.Shutdown(ctx), e.c.Sender.Close()))
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("exporter: %w", err)
}
