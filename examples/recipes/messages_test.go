package recipes_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hibiken/asynq"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// A message continues the trace of the request that sent the message, in a span of kind consumer. Errors are those of the span.
func TestQueue(t *testing.T) {
	rec, ctx, end := record(t)
	mail := recipes.Queue{System: "asynq", Name: "mail"}
	var sent []*asynq.Task
	full := errors.New("queue full")
	for _, answer := range []error{nil, full} {
		headers := map[string]string{"tenant": "7"}
		if err := mail.Send(ctx, headers, func(ctx context.Context) error {
			sent = append(sent, asynq.NewTaskWithHeaders("mail", []byte("socks"), headers))
			marks.Mark(ctx, "sent")
			return answer
		}); !errors.Is(err, answer) {
			t.Errorf("got %v, want %v", err, answer)
		}
	}
	end()
	sold := errors.New("sold out")
	for _, task := range []*asynq.Task{sent[0], asynq.NewTask("mail", []byte("shoes"))} {
		if err := mail.Handle(rec.Context(t.Context()), task.Headers(), func(ctx context.Context) error {
			marks.Mark(ctx, string(task.Payload()))
			return sold
		}); !errors.Is(err, sold) {
			t.Errorf("got %v, want the handler's error", err)
		}
	}
	if got := sent[0].Headers()["tenant"]; got != "7" {
		t.Errorf("the message lost the program's header: %q", got)
	}
	const handled = "messaging.destination.name=mail messaging.operation.name=process messaging.operation.type=process messaging.system=asynq " +
		"(consumer) (error: sold out)"
	const produced = "messaging.destination.name=mail messaging.operation.name=send messaging.operation.type=send messaging.system=asynq (producer)"
	rec.Want(`
		GET /items (server)
		  send mail `+produced+`
		    * sent
		    process mail error.type=*errors.errorString `+handled+`
		      * socks
		  send mail error.type=*errors.errorString `+produced+` (error: queue full)
		    * sent
		process mail error.type=*errors.errorString `+handled+`
		  * shoes
	`, semconv.ErrorTypeKey, semconv.MessagingDestinationNameKey, semconv.MessagingOperationNameKey, semconv.MessagingOperationTypeKey,
		semconv.MessagingSystemKey)
}
