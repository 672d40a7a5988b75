package exporter

import (
	"context"
	"time"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
)

// A Sender sends encoded requests to a destination other than OTLP over gRPC or HTTP: a message
// queue, a file, a test.
//
//   - Each body is one request of OTLP: an ExportTraceServiceRequest of a [Delivery], an
//     ExportLogsServiceRequest of a [LogDelivery].
//   - One goroutine calls Send, for one request at a time.
//   - Send returns soon after ctx ends. The error may then be the error of ctx.
//   - Send does not change body. After Send has returned, it may read body only if it returned an
//     error.
//   - A panic counts as an error without Retry.
type Sender interface {
	Send(ctx context.Context, body []byte) Answer
}

// An Answer is the result of one request. The zero value means that the receiver accepted all
// items: spans or log records. Err and Message are logged, and must not contain secrets.
type Answer struct {
	Err   error // nil: the receiver accepted the request, except for Rejected items
	Retry bool  // with Err: the same request may succeed later; otherwise its items are lost

	// After, with Retry, is the pause that the receiver asks for, at most 5 minutes. ForceFlush and
	// Shutdown shorten the pause to 3 s. 0: the delivery chooses the pause.
	After time.Duration

	Unanswered bool // with Err: the receiver may have accepted the request

	// Unknown, with Err and without Retry: the receiver does not support the signal. Log records
	// and profiles then pause for 10 minutes, spans do not.
	Unknown bool

	// TooLarge, with Err and without Retry: the receiver refuses requests of this size. The items
	// are sent again in smaller requests; items of profiles are lost.
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
