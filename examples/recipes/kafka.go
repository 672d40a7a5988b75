package recipes

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kotel"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
)

// NewKafka returns a client with a span for each record that is sent. The record carries its trace.
func NewKafka(t *kotel.Tracer, opts ...kgo.Opt) (*kgo.Client, error) {
	// not kotel's hooks for fetched records: their span would be the unit of work, and be over before the work begins
	sending := struct {
		kgo.HookProduceRecordBuffered
		kgo.HookProduceRecordUnbuffered
	}{t, t}
	return kgo.NewClient(append(opts, kgo.WithHooks(sending))...)
}

// Handle calls a handler in a span of kind consumer, which is a unit of work and continues the
// trace of the record.
func Handle(ctx context.Context, t *kotel.Tracer, r *kgo.Record,
	handler func(context.Context, *kgo.Record) error) error {
	r.Context = otel.GetTextMapPropagator().Extract(ctx, kotel.NewRecordCarrier(r))
	ctx, span := t.WithProcessSpan(r)
	defer span.End()
	err := handler(ctx, r)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}
