package otlpprofiles

import (
	"context"
	"fmt"
	"io"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
)

// A sendCloser sends requests until it is closed.
type sendCloser interface {
	queue.Sender
	io.Closer
}

// maxName is how many bytes of a Sender's name are printed.
const maxName = 256

// sender returns the sender of requests, and its name for messages.
func (c Config) sender(vars *environ.Reader) (s sendCloser, name string, err error) {
	if c.Sender != nil {
		if named, ok := c.Sender.(fmt.Stringer); ok {
			return customSender{c.Sender}, text.Cut(record.ValueText(named), maxName), nil
		}
		return customSender{c.Sender}, fmt.Sprintf("%T", c.Sender), nil
	}
	settings, err := otlp.Resolve(vars,
		otlp.Config{Endpoint: c.Endpoint, Protocol: c.Protocol, Headers: c.Headers}, otlp.Profiles)
	if err != nil {
		return nil, "", err
	}
	s, err = settings.Sender()
	return s, settings.Name, err
}

// A customSender is a sender of the program's as the queue takes it.
type customSender struct{ sender exporter.Sender }

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
