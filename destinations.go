package perfline

import (
	"context"
	"errors"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/exporter/requests"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/spanconfig"
)

// destinations are where ended spans go. perfline's provider has them one by one. For a provider of the SDK, they are a
// span processor.
type destinations struct {
	recent   *requests.Recent
	encoded  *exporter.Delivery    // nil unless spans go over OTLP
	snapshot delivery              // nil unless spans go to another exporter
	logs     *exporter.LogDelivery // nil unless log records go over OTLP

	encoder otlpenc.Groups
	removed atomic.Bool
}

func (d *destinations) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	if d.snapshot != nil {
		d.snapshot.OnStart(ctx, s)
	}
}

// OnEnd encodes a span once for the requests in memory and for the delivery.
func (d *destinations) OnEnd(s sdktrace.ReadOnlySpan) {
	d.encoder.Encode(s, func(encoded otlpenc.Spans) {
		d.recent.Accept(encoded)
		switch {
		case d.snapshot != nil:
			d.snapshot.OnEnd(s)
		case d.encoded != nil && s.SpanContext().IsSampled():
			d.encoded.Accept(encoded)
		}
	})
}

// ForceFlush flushes log records on another goroutine: they do not wait for the backend of spans.
func (d *destinations) ForceFlush(ctx context.Context) (err error) {
	logs := make(chan error, 1)
	if d.logs == nil {
		logs <- nil
	} else {
		go func() { logs <- d.logs.ForceFlush(ctx) }()
	}
	if to := d.backend(); to != nil {
		err = to.ForceFlush(ctx)
	}
	return errors.Join(err, <-logs)
}

func (d *destinations) Shutdown(ctx context.Context) error {
	if d.removed.Load() {
		return nil
	}
	err := d.recent.Shutdown(ctx)
	if to := d.backend(); to != nil {
		err = errors.Join(err, to.Shutdown(ctx))
	}
	if d.logs != nil {
		err = errors.Join(err, d.logs.Shutdown(ctx))
	}
	return err
}

// logOutput returns the output of log records, and nil without one.
func (d *destinations) logOutput(vars *environ.Reader) bridge.LogOutput {
	if d.logs == nil {
		return nil
	}
	return limitedLogs{d.logs, spanconfig.ReadLogLimits(vars)}
}

// limitedLogs are log records with the limits that Start has read: a wrong variable is logged once, to Start's logger.
type limitedLogs struct {
	*exporter.LogDelivery

	limits spanconfig.LogLimits
}

// LogLimits returns the limits, which package bridge asks for.
func (l limitedLogs) LogLimits() spanconfig.LogLimits { return l.limits }

// backend returns the delivery to the backend, and nil without one.
func (d *destinations) backend() delivery {
	if d.encoded != nil {
		return d.encoded
	}
	return d.snapshot
}

// removeFrom unregisters d from a provider, which shuts down what it removes. d is shut down already.
func (d *destinations) removeFrom(p *sdktrace.TracerProvider) {
	d.removed.Store(true)
	p.UnregisterSpanProcessor(d)
}
