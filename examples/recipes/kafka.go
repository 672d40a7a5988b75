package recipes

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Consume handles a record in a span of kind consumer, which continues the producer's trace. Each record is a unit of work.
func Consume(ctx context.Context, r *kgo.Record, handle func(context.Context, *kgo.Record) error) error {
	ctx = otel.GetTextMapPropagator().Extract(ctx, recordHeaders{r})
	ctx, span := otel.Tracer("shop/consumer").Start(ctx, "process "+r.Topic, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("messaging.system", "kafka"), attribute.String("messaging.operation.name", "process"), attribute.String("messaging.destination.name", r.Topic)))
	defer span.End()
	err := handle(ctx, r)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}

// Produce injects the trace of ctx into a record.
func Produce(ctx context.Context, r *kgo.Record) *kgo.Record {
	otel.GetTextMapPropagator().Inject(ctx, recordHeaders{r})
	return r
}

// recordHeaders are the headers of a record, for the propagator.
type recordHeaders struct{ r *kgo.Record }

func (h recordHeaders) Get(key string) string {
	for _, header := range h.r.Headers {
		if header.Key == key {
			return string(header.Value)
		}
	}
	return ""
}

func (h recordHeaders) Set(key, value string) {
	h.r.Headers = append(h.r.Headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
}

func (h recordHeaders) Keys() (keys []string) {
	for _, header := range h.r.Headers {
		keys = append(keys, header.Key)
	}
	return keys
}
