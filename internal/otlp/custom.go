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

// A SendCloser sends requests until the caller calls Close.
type SendCloser interface {
	queue.Sender
	io.Closer
}

// maxName bounds the printed name of a custom sender, in bytes.
const maxName = 256

// Open returns a sender for a signal, and the name of the sender for log lines and errors. If
// custom is nil, c and the variables configure the sender. Otherwise, custom replaces c and the
// variables:
//
//   - The sender calls the function send for each request.
//   - The name is the result of String, or the type if custom does not implement fmt.Stringer.
//   - Close closes custom if custom implements io.Closer.
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

// A customSender adapts the program's sender for a queue.
type customSender struct {
	sender any
	send   func(context.Context, []byte) queue.Answer
}

func (c customSender) Send(ctx context.Context, b []byte) queue.Answer { return c.send(ctx, b) }

func (c customSender) Close() error {
	if closer, ok := c.sender.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
