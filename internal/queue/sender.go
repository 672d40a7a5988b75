package queue

import (
	"context"
	"time"
)

// A Sender sends one request and waits for the answer, or for the end of ctx.
//
//   - Send is called by one goroutine at a time.
//   - Send returns soon after ctx ends. The error may then be the error of ctx.
//   - Send does not change body. It does not use body after it has returned, except after an error.
//   - Err and Message must name no secrets: the queue logs both.
//   - A panic counts as an error that cannot be repaired by sending again.
type Sender interface {
	Send(ctx context.Context, body []byte) Answer
}

// An Answer says what became of a request. The zero value says that the receiver took all of it.
type Answer struct {
	Err   error // nil: the receiver took the request, but for Rejected
	Retry bool  // with Err: the same request may succeed later
	// with Retry: the receiver wants no request before; 0 leaves it to the queue
	After      time.Duration
	TooLarge   bool // with Err: the receiver does not take requests as large as that
	Aside      bool // with Retry: the others go first, the request itself may be at fault
	Unanswered bool // with Err: the receiver may have taken the request nevertheless
	// with Err, without Retry: the receiver does not know this kind of data; see [Config].UnknownPause
	Unknown bool
	// without Err: how many items' counts the receiver turned down, for the reason in Message
	Rejected int64
	Message  string // the reason; a warning of the receiver if Rejected is 0
}

// keepBody is how many bytes of a request's buffer are kept for the next one. Larger requests are
// rare.
const keepBody = 1 << 20

// Encoded returns a function for [Config].Send that encodes a batch and gives the bytes to s.
// appendTo appends the request of a batch to body. The buffer is used again after a request that
// was answered: after an error, the transport may still read it. A new buffer has room for a
// request as long as the last one, which may be sent again.
func Encoded[T any](appendTo func(body []byte, batch []T) []byte, s Sender) func(context.Context,
	[]T) Answer {
	var spare []byte
	last := 0
	return func(ctx context.Context, batch []T) Answer {
		if spare == nil {
			spare = make([]byte, 0, last)
		}
		body := appendTo(spare[:0], batch)
		spare, last = nil, len(body)
		a := s.Send(ctx, body)
		if a.Err == nil && cap(body) <= keepBody {
			spare = body
		}
		return a
	}
}
