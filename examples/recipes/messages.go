package recipes

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// A Queue is a queue or a topic of a broker. System is the broker's name, such as "rabbitmq".
type Queue struct{ System, Name string }

// Send calls send in a span of kind producer. Send writes the trace of the span into headers, a map
// that is not nil. The message must have these headers.
func (q Queue) Send(ctx context.Context, headers map[string]string,
	send func(context.Context) error) error {
	return q.span(ctx, "send", trace.SpanKindProducer, func(ctx context.Context) error {
		otel.GetTextMapPropagator().Inject(ctx, propagation.MapCarrier(headers))
		return send(ctx)
	})
}

// Handle calls the handler of a message in a span of kind consumer, which is a unit of work. The
// span continues the trace in the headers of the message, and not the trace of ctx.
func (q Queue) Handle(ctx context.Context, headers map[string]string,
	handler func(context.Context) error) error {
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	ctx = otel.GetTextMapPropagator().Extract(ctx, propagation.MapCarrier(headers))
	return q.span(ctx, "process", trace.SpanKindConsumer, handler)
}

func (q Queue) span(ctx context.Context, operation string, kind trace.SpanKind,
	work func(context.Context) error) error {
	ctx, span := otel.Tracer("messages").Start(ctx, operation+" "+q.Name,
		trace.WithSpanKind(kind), trace.WithAttributes(
			semconv.MessagingSystemKey.String(q.System), semconv.MessagingDestinationName(q.Name),
			semconv.MessagingOperationName(operation),
			semconv.MessagingOperationTypeKey.String(operation)))
	defer span.End()
	err := work(ctx)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		span.SetAttributes(semconv.ErrorType(err))
	}
	return err
}
