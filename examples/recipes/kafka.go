package recipes

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kotel"
	"go.opentelemetry.io/otel/codes"
)

// NewKafka returns a client with a span for each record that is sent or received. A record carries the trace of its sender.
func NewKafka(t *kotel.Tracer, opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(opts, kgo.WithHooks(kotel.NewKotel(kotel.WithTracer(t)).Hooks()...))...)
}

// Handle calls a handler in a span of its own, which is a unit of work.
func Handle(t *kotel.Tracer, r *kgo.Record, handler func(context.Context, *kgo.Record) error) error {
	ctx, span := t.WithProcessSpan(r)
	defer span.End()
	err := handler(ctx, r)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}
