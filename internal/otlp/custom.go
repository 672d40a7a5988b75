package otlp

import (
	"context"
	"fmt"
	"io"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
)

// A SendCloser sends requests until it is closed.
type SendCloser interface {
	queue.Sender
	io.Closer
}

// maxName is how many bytes of a custom sender's name are printed.
const maxName = 256

// Open returns a sender of a signal, and its name for messages. A custom sender is the program's,
// and counts in place of c and the variables. Its name is what its String returns, or its type.
// send calls it. Close closes it if it is an io.Closer.
func Open(
	vars *environ.Reader, c Config, signal Signal,
	custom any, send func(context.Context, []byte) queue.Answer,
) (SendCloser, string, error) {
	if custom != nil {
		name := fmt.Sprintf("%T", custom)
		if named, ok := custom.(fmt.Stringer); ok {
			name = text.Cut(record.ValueText(named), maxName)
		}
		return customSender{custom, send}, name, nil
	}
	settings, err := Resolve(vars, c, signal)
	if err != nil {
		return nil, "", err
	}
	s, err := settings.Sender()
	return s, settings.Name, err
}

// A customSender is a sender of the program's as a queue takes it.
type customSender struct {
	sender any
	send   func(context.Context, []byte) queue.Answer
}

func (c customSender) Send(ctx context.Context, body []byte) queue.Answer {
	return c.send(ctx, body)
}

func (c customSender) Close() error {
	if closer, ok := c.sender.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
