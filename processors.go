package perfline

import (
	"context"
	"errors"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/exporter/requests"
)

// fanOut gives spans to each processor in turn.
type fanOut []sdktrace.SpanProcessor

func (f fanOut) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	for _, p := range f {
		p.OnStart(ctx, s)
	}
}

func (f fanOut) OnEnd(s sdktrace.ReadOnlySpan) {
	for _, p := range f {
		p.OnEnd(s)
	}
}

func (f fanOut) ForceFlush(ctx context.Context) error {
	var all error
	for _, p := range f {
		all = errors.Join(all, p.ForceFlush(ctx))
	}
	return all
}

func (f fanOut) Shutdown(ctx context.Context) error {
	var all error
	for _, p := range f {
		all = errors.Join(all, p.Shutdown(ctx))
	}
	return all
}

// encodedOnce gives the same bytes of a span to the requests in memory and to the delivery.
type encodedOnce struct {
	encoder  otlpenc.Groups
	recent   *requests.Recent
	delivery *exporter.Delivery
}

func (e *encodedOnce) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (e *encodedOnce) OnEnd(s sdktrace.ReadOnlySpan) {
	encoded := e.encoder.Encode(s)
	e.recent.Accept(encoded)
	if s.SpanContext().IsSampled() {
		e.delivery.Accept(encoded)
	}
}

func (e *encodedOnce) ForceFlush(ctx context.Context) error { return e.delivery.ForceFlush(ctx) }

func (e *encodedOnce) Shutdown(ctx context.Context) error {
	return errors.Join(e.recent.Shutdown(ctx), e.delivery.Shutdown(ctx))
}
