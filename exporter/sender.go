package exporter

import (
	"context"
	"time"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
)

// A Sender sends encoded requests to a destination other than OTLP over gRPC or HTTP. Examples are
// a message queue, a file and a test.
//
//   - Each body is one OTLP request. A [Delivery] sends an ExportTraceServiceRequest, and a
//     [LogDelivery] sends an ExportLogsServiceRequest.
//   - The delivery calls Send from one goroutine, for one request at a time.
//   - Send must return soon after ctx ends. Err of the Answer may then be the error of ctx.
//   - Send must not change body. After an Answer with Err, the Sender may still read body. After an
//     Answer without Err, the Sender must not read body.
//   - A panic of Send counts as an Answer with Err and without Retry.
type Sender interface {
	Send(ctx context.Context, body []byte) Answer
}

// An Answer is the result of one request. The zero value means that the receiver accepted all spans
// or log records. Err and Message are logged, and must not contain secrets.
type Answer struct {
	Err   error // nil: the receiver accepted the request, except for Rejected items
	Retry bool  // with Err: the same request may succeed later; if false, the items are lost

	// After, with Retry, is the pause that the receiver requests, at most 5 minutes. ForceFlush and
	// Shutdown shorten the pause to 3 s. 0: the delivery chooses the pause.
	After time.Duration

	Unanswered bool // with Err: the receiver may have accepted the request

	// Unknown, with Err and without Retry, means that the receiver does not support the signal.
	// Deliveries of log records and profiles then pause for 10 minutes. Deliveries of spans do not
	// pause.
	Unknown bool

	// TooLarge, with Err and without Retry, means that the receiver refuses requests of this size.
	// The delivery sends the items again in smaller requests. Items of profiles are lost.
	TooLarge bool

	Rejected int64  // without Err: number of items that the receiver rejected
	Message  string // the reason for Rejected, or a warning if Rejected is 0
}

// sender returns the sender of requests, and the sender's name for messages.
func (c Config) sender(vars *environ.Reader, signal otlp.Signal) (otlp.SendCloser, string, error) {
	where := otlp.Config{Endpoint: c.Endpoint, Protocol: c.Protocol, Headers: c.Headers}
	send := func(ctx context.Context, body []byte) queue.Answer {
		a := c.Sender.Send(ctx, body)
		return queue.Answer{
			Err: a.Err, Retry: a.Retry, After: a.After, Unanswered: a.Unanswered,
			Unknown: a.Unknown, TooLarge: a.TooLarge, Rejected: a.Rejected, Message: a.Message,
		}
	}
	return otlp.Open(vars, where, signal, c.Sender, send)
}
