package exporter

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpenc"
)

// A Delivery sends spans over OTLP. As a span processor of OpenTelemetry's SDK, a Delivery encodes
// each span on the goroutine that ends the span. As an output of a bridge.TracerProvider, a
// Delivery receives encoded spans through [Delivery.Accept]. The queue stores only encoded spans.
// Methods may be called concurrently.
type Delivery struct {
	outbox

	groups otlpenc.Groups
}

var (
	_ sdktrace.SpanProcessor = (*Delivery)(nil)
	_ bridge.Output          = (*Delivery)(nil)
)

// NewDelivery starts a delivery of spans. c and the variables OTEL_EXPORTER_OTLP_* and OTEL_BSP_*
// configure the delivery. NewDelivery does not connect to the receiver. NewDelivery returns an
// error in these cases:
//
//   - A field of c is invalid.
//   - A variable is invalid, and no request can be sent without a valid value.
//
// NewDelivery logs each other invalid variable once, and uses the default of the variable. The
// caller, or the provider that uses the delivery, must call Shutdown.
func NewDelivery(c Config) (*Delivery, error) {
	d := &Delivery{}
	if err := d.open(c, otlp.Traces, "spans", 0); err != nil {
		return nil, err
	}
	return d, nil
}

// OnStart does nothing, because a delivery needs only ended spans.
func (d *Delivery) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a sampled span. If the queue is full, OnEnd drops the span. OnEnd ignores unsampled
// spans, and never blocks. OnEnd reuses the memory of delivered and lost spans. OnEnd allocates
// memory if more spans wait than ever before. OnEnd may also allocate memory for a span of more
// than 1 KiB.
func (d *Delivery) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		d.groups.Encode(s, func(s otlpenc.Spans) {
			d.add(d.append(d.begin(), s.Records()))
		})
	}
}

// Accept queues encoded spans. If the queue is full, Accept drops spans. Accept never blocks.
// Accept retains the bytes of perfline's provider without a copy: see [bridge.Spans.Retain]. Accept
// copies the bytes of other providers, and allocates memory for the copies. In other respects,
// Accept allocates memory in the same cases as [Delivery.OnEnd].
//
// Accept queues and drops spans in parts. A part contains at most 4 KiB, or one larger span. Accept
// also drops these elements of the slice all. Each dropped element counts as at least one span:
//
//   - Spans that the program created without a resource and a scope
//   - Spans without bytes
//   - Spans with a count below 1
func (d *Delivery) Accept(all []bridge.Spans) {
	batch := d.begin()
	for _, s := range all {
		batch = d.append(batch, otlpenc.Spans(s).Records())
	}
	d.add(batch)
}
