package otlp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/queue"
)

// A Sender sends the requests of one signal to one receiver. It is safe for concurrent use.
type Sender struct {
	name    string
	wire    wire
	timeout time.Duration
	redactor
	life  context.Context //nolint:containedctx // the sender's lifetime, which Close ends, not a request's
	end   context.CancelFunc
	close sync.Once
}

var _ queue.Sender = (*Sender)(nil)

// A wire makes one attempt to send a request. Its answers are as the receiver gave them.
type wire interface {
	queue.Sender
	close() error
}

var errClosed = errors.New("the sender is closed")

// Sender returns a sender with connections of its own. It does not connect. Call Close.
func (s *Settings) Sender() (*Sender, error) {
	var w wire
	if s.Protocol == GRPC {
		var err error
		if w, err = newGRPCWire(s); err != nil {
			return nil, fmt.Errorf("exporter: %s: %w", s.Name, s.Redact(err))
		}
	} else {
		w = newHTTPWire(s)
	}
	sender := &Sender{name: s.Name, wire: w, timeout: s.Timeout, redactor: s.redactor}
	sender.life, sender.end = context.WithCancel(context.Background())
	return sender, nil
}

// String returns the receiver's name, for messages.
func (s *Sender) String() string { return s.name }

// Send makes one attempt to send a request, bounded by the timeout of the settings. Errors and messages may be printed.
// After an answer with an error, gRPC may still read body.
func (s *Sender) Send(ctx context.Context, body []byte) queue.Answer {
	if s.life.Err() != nil {
		return queue.Answer{Err: errClosed}
	}
	began := time.Now()
	attempt, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.timeout > 0 {
		attempt, cancel = context.WithTimeout(attempt, s.timeout)
		defer cancel()
	}
	defer context.AfterFunc(s.life, cancel)()

	a := s.wire.Send(attempt, body)
	switch {
	case a.Err == nil:
	case s.life.Err() != nil:
		a = queue.Answer{Err: errClosed, Unanswered: a.Unanswered}
	case s.timeout > 0 && time.Since(began) >= s.timeout && ctx.Err() == nil: // a receiver over gRPC knows the deadline, and may end the call first
		a.Err = fmt.Errorf("no answer within %v: %w", s.timeout, a.Err)
	}
	a.Err = s.Redact(a.Err)
	a.Message = s.redact(a.Message)
	return a
}

// Close ends what is under way and closes the connections. Requests fail afterwards. Further calls do nothing.
func (s *Sender) Close() (err error) {
	s.close.Do(func() {
		s.end()
		err = s.wire.close()
	})
	return err
}
