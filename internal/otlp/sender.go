package otlp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/queue"
)

// A Sender sends the requests of one signal to one receiver. Several goroutines may use a Sender at
// the same time.
type Sender struct {
	life  context.Context //nolint:containedctx // the sender's lifetime, which Close ends
	end   context.CancelFunc
	close sync.Once

	settings Settings // mu guards the fields that renewed changes

	mu     sync.Mutex // guards the fields below
	wire   wire
	silent int // consecutive attempts without an answer
}

// maxSilent is the number of consecutive attempts without an answer after which the sender replaces
// its connection. A load balancer may have forgotten the connection, which the system notices only
// after a quarter of an hour. HTTP/2 and gRPC do not reconnect before that. Pings would detect the
// loss sooner, but receivers treat frequent pings as an attack.
const maxSilent = 2

var _ queue.Sender = (*Sender)(nil)

// A wire makes one attempt to send a request. It returns the receiver's answer without redaction.
type wire interface {
	queue.Sender
	close() error
}

var errClosed = errors.New("the sender is closed")

// Sender returns a sender that shares no connections with other senders. The call opens no
// connection. The caller must call [Sender.Close].
func (s *Settings) Sender() (*Sender, error) {
	w, err := s.connect()
	if err != nil {
		return nil, fmt.Errorf("exporter: %s: %w", s.Name, s.Redact(err))
	}
	sender := &Sender{settings: *s, wire: w}
	sender.life, sender.end = context.WithCancel(context.Background())
	return sender, nil
}

// connect returns a wire for the protocol, with its own connections.
func (s *Settings) connect() (wire, error) {
	if s.Protocol == GRPC {
		return newGRPCWire(s)
	}
	return newHTTPWire(s), nil
}

// String returns the name of the receiver for messages.
func (s *Sender) String() string { return s.settings.Name }

// Send tries once to send a request. The timeout of the settings limits the attempt. Errors and
// messages in the answer are printable and contain no secrets. After an answer with an error, gRPC
// may still read body.
func (s *Sender) Send(ctx context.Context, body []byte) queue.Answer {
	if s.life.Err() != nil {
		return queue.Answer{Err: errClosed}
	}
	start := time.Now()
	attempt, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.settings.Timeout > 0 {
		attempt, cancel = context.WithTimeout(attempt, s.settings.Timeout)
		defer cancel()
	}
	defer context.AfterFunc(s.life, cancel)()

	w := s.current()
	a := w.Send(attempt, body)
	s.track(w, a.Err == nil || attempt.Err() == nil || errors.Is(ctx.Err(), context.Canceled))
	switch {
	case a.Err == nil:
	case s.life.Err() != nil:
		a = queue.Answer{Err: errClosed, Unanswered: a.Unanswered}
	// A gRPC receiver knows the deadline, and may end the call before attempt ends.
	case s.settings.Timeout > 0 && time.Since(start) >= s.settings.Timeout && ctx.Err() == nil:
		a.Err = fmt.Errorf("no answer within %v: %w", s.settings.Timeout, a.Err)
	}
	a.Err = s.settings.Redact(a.Err)
	a.Message = s.settings.redact(a.Message)
	return a
}

// current returns the wire to use. It replaces the wire after the certificate files have changed.
func (s *Sender) current() wire {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() == nil && s.settings.renewed() {
		s.reconnect()
	}
	return s.wire
}

// reconnect replaces the wire and its connections. The caller holds s.mu.
func (s *Sender) reconnect() {
	fresh, err := s.settings.connect()
	if err != nil {
		return // unreachable: the same settings worked before
	}
	old := s.wire
	s.wire, s.silent = fresh, 0
	_ = old.close()
}

// track records whether an attempt was answered, or failed for another reason than its time limit.
// It replaces a wire after maxSilent attempts without an answer.
func (s *Sender) track(w wire, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.wire != w, s.life.Err() != nil:
		return
	case answered:
		s.silent = 0
		return
	}
	if s.silent++; s.silent >= maxSilent {
		s.reconnect()
	}
}

// Close cancels current requests and closes the connections. After Close, Send returns an error.
// Further calls of Close do nothing.
func (s *Sender) Close() (err error) {
	s.close.Do(func() {
		s.end()
		s.mu.Lock()
		defer s.mu.Unlock()
		err = s.wire.close()
	})
	return err
}
