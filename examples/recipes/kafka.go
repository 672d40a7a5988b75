package recipes

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kotel"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// NewKafka returns a client with a span for each record that is sent. The record carries its trace.
func NewKafka(t *kotel.Tracer, opts ...kgo.Opt) (*kgo.Client, error) {
	// not kotel's hooks for fetched records: their span would end before the work begins
	sending := struct {
		kgo.HookProduceRecordBuffered
		kgo.HookProduceRecordUnbuffered
	}{t, t}
	return kgo.NewClient(append(opts, kgo.WithHooks(sending))...)
}

// Handle calls a handler in a span of kind consumer. The span continues the record's trace, and not
// the trace of ctx.
func Handle(ctx context.Context, t *kotel.Tracer, r *kgo.Record,
	handler func(context.Context, *kgo.Record) error) error {
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	r.Context = otel.GetTextMapPropagator().Extract(ctx, kotel.NewRecordCarrier(r))
	ctx, span := t.WithProcessSpan(r)
	defer span.End()
	err := handler(ctx, r)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}
