package exporter

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpenc"
)

// A Delivery sends spans over OTLP. It is a span processor, which encodes spans on the goroutines
// that end them. It is also an output of a bridge.TracerProvider, which gives encoded spans to
// [Delivery.Accept]. Only bytes wait. Methods may be called concurrently.
type Delivery struct {
	outbox

	groups otlpenc.Groups
}

var (
	_ sdktrace.SpanProcessor = (*Delivery)(nil)
	_ bridge.Output          = (*Delivery)(nil)
)

// NewDelivery starts a delivery that c and the variables describe: OTEL_EXPORTER_OTLP_* and
// OTEL_BSP_*. It does not connect. Wrong fields are errors, and so are variables without which
// nothing can be sent. Other wrong variables are one line each in the log, and their defaults
// count. The caller has to shut the delivery down, as a provider does.
func NewDelivery(c Config) (*Delivery, error) {
	d := &Delivery{}
	if err := d.open(c, otlp.Traces, "spans", 0); err != nil {
		return nil, err
	}
	return d, nil
}

// OnStart does nothing.
func (d *Delivery) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a span that is sampled, or drops it when the queue is full. It never blocks. It uses
// the memory of spans that have been delivered or lost. It may allocate for a span of more than 1
// KiB, and it allocates when more spans wait than before.
func (d *Delivery) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		d.groups.Encode(s, d.acceptOne)
	}
}

func (d *Delivery) acceptOne(s otlpenc.Spans) { d.add(d.append(d.begin(), s.Records())) }

// Accept queues spans that are encoded already, or drops them when the queue is full. It retains
// their bytes as [bridge.Spans.Retain] does, so that bytes of perfline's provider are not copied.
// Accept never blocks, and allocates only for bytes of others and when [Delivery.OnEnd] would.
// Spans are queued, and dropped, in parts of 4 KiB at most, unless a single span has more. Spans
// that a program made itself have no resource and no scope. They are dropped, as spans without
// bytes or a count of at least 1 are, and count as at least one.
func (d *Delivery) Accept(all []bridge.Spans) {
	batch := d.begin()
	for _, s := range all {
		batch = d.append(batch, otlpenc.Spans(s).Records())
	}
	d.add(batch)
}
