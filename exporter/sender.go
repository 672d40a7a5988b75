package exporter

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
)

// A Sender sends encoded requests to a receiver that OTLP over gRPC or HTTP does not reach: a
// message queue, a file, a test.
//
//   - Each body is one request of OTLP: an ExportTraceServiceRequest of a [Delivery], an
//     ExportLogsServiceRequest of a [LogDelivery].
//   - One goroutine calls Send, for one request at a time.
//   - Send returns soon after ctx ends. The error may then be the error of ctx.
//   - Send does not change body. It does not use body after it has returned, except after an error.
//   - A panic counts as an error without Retry.
type Sender interface {
	Send(ctx context.Context, body []byte) Answer
}

// An Answer says whether the receiver took a request. The zero value says that it took all items:
// spans or log records.
type Answer struct {
	// nil: the receiver took the request, except for Rejected; it goes to the log and must name no secrets
	Err error
	// with Err: the same request may succeed later; otherwise its items are lost
	Retry bool
	// with Retry: the pause that the receiver wants, 5 minutes at most, of which ForceFlush and Shutdown leave 3 s; 0 leaves it to the delivery
	After      time.Duration
	Unanswered bool // with Err: the receiver may have taken the request nevertheless
	// with Err, without Retry: the receiver does not know the signal; log records and profiles then pause for 10 minutes, spans do not
	Unknown bool
	// with Err, without Retry: the receiver takes no requests as large as that; their items are sent again in smaller ones, those of profiles are lost
	TooLarge bool
	// without Err: how many items the receiver turned down, for the reason in Message
	Rejected int64
	// the reason, or a warning if Rejected is 0; it goes to the log and must name no secrets
	Message string
}

// maxName is how many bytes of a Sender's name are printed.
const maxName = 256

// sender returns the sender of requests, and its name for messages.
func (c Config) sender(vars *environ.Reader, signal otlp.Signal) (s sendCloser, name string,
	err error) {
	if c.Sender != nil {
		if named, ok := c.Sender.(fmt.Stringer); ok {
			return customSender{c.Sender}, text.Cut(record.ValueText(named), maxName), nil
		}
		return customSender{c.Sender}, fmt.Sprintf("%T", c.Sender), nil
	}
	settings, err := otlp.Resolve(vars,
		otlp.Config{Endpoint: c.Endpoint, Protocol: c.Protocol, Headers: c.Headers}, signal)
	if err != nil {
		return nil, "", err
	}
	s, err = settings.Sender()
	return s, settings.Name, err
}

type sendCloser interface {
	queue.Sender
	io.Closer
}

// A customSender is a Sender as the queue takes it.
type customSender struct{ sender Sender }

func (c customSender) Send(ctx context.Context, body []byte) queue.Answer {
	a := c.sender.Send(ctx, body)
	return queue.Answer{
		Err: a.Err, Retry: a.Retry, After: a.After, Unanswered: a.Unanswered, Unknown: a.Unknown,
		TooLarge: a.TooLarge,
		Rejected: a.Rejected, Message: a.Message,
	}
}

// Close closes the sender if it can be closed.
func (c customSender) Close() error {
	if closer, ok := c.sender.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
