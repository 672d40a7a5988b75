package exporter

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpenc"
)

// A Delivery sends spans over OTLP. As a span processor, it encodes a span on the goroutine that
// ends the span. As an output of a bridge.TracerProvider, it gets encoded spans through
// [Delivery.Accept]. The queue holds only bytes. Methods may be called concurrently.
type Delivery struct {
	outbox

	groups otlpenc.Groups
}

var (
	_ sdktrace.SpanProcessor = (*Delivery)(nil)
	_ bridge.Output          = (*Delivery)(nil)
)

// NewDelivery starts a delivery, configured by c and the variables OTEL_EXPORTER_OTLP_* and
// OTEL_BSP_*. It does not connect. Invalid fields are errors, as are invalid variables without
// which nothing can be sent. Other invalid variables are logged once each, and their defaults
// apply. The caller, or its provider, has to shut the delivery down.
func NewDelivery(c Config) (*Delivery, error) {
	d := &Delivery{}
	if err := d.open(c, otlp.Traces, "spans", 0); err != nil {
		return nil, err
	}
	return d, nil
}

// OnStart does nothing.
func (d *Delivery) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a sampled span, or drops the span when the queue is full. It never blocks. It reuses
// the memory of delivered and lost spans. It may allocate for a span of more than 1 KiB, and it
// allocates when more spans wait than ever before.
func (d *Delivery) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		d.groups.Encode(s, func(s otlpenc.Spans) {
			d.add(d.append(d.begin(), s.Records()))
		})
	}
}

// Accept queues encoded spans, or drops spans when the queue is full. It never blocks. It retains
// the bytes as [bridge.Spans.Retain] does, so that bytes of perfline's provider are not copied.
// Accept allocates only for bytes of other origin, and where [Delivery.OnEnd] would.
//
// Accept queues and drops spans in parts of at most 4 KiB, or one larger span. It drops spans that
// a program made itself, which lack a resource and a scope, and spans without bytes or with a count
// below 1. Dropped spans count as at least one.
func (d *Delivery) Accept(all []bridge.Spans) {
	batch := d.begin()
	for _, s := range all {
		batch = d.append(batch, otlpenc.Spans(s).Records())
	}
	d.add(batch)
}
