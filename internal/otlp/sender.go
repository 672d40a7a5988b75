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
	name     string
	settings Settings // guarded by mu
	timeout  time.Duration
	redactor
	life  context.Context //nolint:containedctx // the sender's lifetime, which Close ends, not a request's
	end   context.CancelFunc
	close sync.Once

	mu     sync.Mutex // guards what follows
	wire   wire
	silent int // attempts in a row that had no answer
}

// maxSilent is after how many attempts in a row without an answer a connection is left. It may be
// dead, as a flow is that a load balancer has forgotten, and the system would notice only after a
// quarter of an hour. HTTP/2 and gRPC make no other connection before that. Pings would find out
// sooner, but receivers count them as an attack.
const maxSilent = 2

var _ queue.Sender = (*Sender)(nil)

// A wire makes one attempt to send a request. Its answers are as the receiver gave them.
type wire interface {
	queue.Sender
	close() error
}

var errClosed = errors.New("the sender is closed")

// Sender returns a sender with connections of its own. It does not connect. Call Close.
func (s *Settings) Sender() (*Sender, error) {
	w, err := s.connect()
	if err != nil {
		return nil, fmt.Errorf("exporter: %s: %w", s.Name, s.Redact(err))
	}
	sender := &Sender{name: s.Name, settings: *s, wire: w, timeout: s.Timeout, redactor: s.redactor}
	sender.life, sender.end = context.WithCancel(context.Background())
	return sender, nil
}

// connect returns a wire of the protocol, with connections of its own.
func (s *Settings) connect() (wire, error) {
	if s.Protocol == GRPC {
		return newGRPCWire(s)
	}
	return newHTTPWire(s), nil
}

// String returns the receiver's name, for messages.
func (s *Sender) String() string { return s.name }

// Send makes one attempt to send a request, bounded by the timeout of the settings. Errors and
// messages may be printed. After an answer with an error, gRPC may still read body.
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

	w := s.current()
	a := w.Send(attempt, body)
	s.heard(w, a.Err == nil || attempt.Err() == nil || errors.Is(ctx.Err(), context.Canceled))
	switch {
	case a.Err == nil:
	case s.life.Err() != nil:
		a = queue.Answer{Err: errClosed, Unanswered: a.Unanswered}
	// a receiver over gRPC knows the deadline, and may end the call first
	case s.timeout > 0 && time.Since(began) >= s.timeout && ctx.Err() == nil:
		a.Err = fmt.Errorf("no answer within %v: %w", s.timeout, a.Err)
	}
	a.Err = s.Redact(a.Err)
	a.Message = s.redact(a.Message)
	return a
}

// current returns the wire to use, which is another one after the files of certificates have
// changed.
func (s *Sender) current() wire {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() == nil && s.settings.renewed() {
		s.leave()
	}
	return s.wire
}

// leave replaces the wire, and its connections. s.mu is held.
func (s *Sender) leave() {
	fresh, err := s.settings.connect()
	if err != nil {
		return // as good as the first one, so this does not happen
	}
	old := s.wire
	s.wire, s.silent = fresh, 0
	_ = old.close()
}

// heard notes whether an attempt had an answer, or failed for another reason than the time. It
// leaves a wire that is silent for too long.
func (s *Sender) heard(w wire, answered bool) {
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
		s.leave()
	}
}

// Close ends what is under way and closes the connections. Requests fail afterwards. Further calls
// do nothing.
func (s *Sender) Close() (err error) {
	s.close.Do(func() {
		s.end()
		s.mu.Lock()
		defer s.mu.Unlock()
		err = s.wire.close()
	})
	return err
}
