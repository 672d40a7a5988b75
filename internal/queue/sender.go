package queue

import (
	"context"
	"time"
)

// A Sender sends one request and waits for the answer, or for the end of ctx.
//
//   - One goroutine at a time calls Send.
//   - Send returns soon after ctx ends. The error may then be the error of ctx.
//   - Send does not change body. After Send has returned, it may read body only if it returned an
//     error.
//   - Err and Message must not contain secrets: the queue logs both.
//   - A panic counts as an error without Retry.
type Sender interface {
	Send(ctx context.Context, body []byte) Answer
}

// An Answer is the result of a request. The zero value means that the receiver accepted all items.
type Answer struct {
	Err        error         // nil: the receiver accepted the request, except for Rejected items
	Retry      bool          // with Err: the same request may succeed later
	After      time.Duration // with Retry: pause that the receiver asks for; 0: the queue chooses
	TooLarge   bool          // with Err: the receiver refuses requests of this size
	Defer      bool          // with Retry: other items go first, the cause may be this request
	Unanswered bool          // with Err: the receiver may have accepted the request
	Unknown    bool          // with Err, without Retry: unsupported data, see [Config].UnknownPause
	Rejected   int64         // without Err: sum of Count of the items that the receiver rejected
	Message    string        // the reason for Rejected, or a warning if Rejected is 0
}

// maxSpareBody bounds the buffer that is reused for the next request, in bytes. Larger requests are
// rare.
const maxSpareBody = 1 << 20

// Encoded returns a function for [Config].Send that encodes a batch with appendTo and sends the
// bytes with s. appendTo appends the request to body. The buffer is reused only after an answer
// without an error, because after an error the transport may still read the buffer. A new buffer
// has the capacity of the last request, which may be sent again.
func Encoded[T any](
	appendTo func(body []byte, batch []T) []byte, s Sender,
) func(context.Context, []T) Answer {
	var spare []byte
	last := 0
	return func(ctx context.Context, batch []T) Answer {
		if spare == nil {
			spare = make([]byte, 0, last)
		}
		body := appendTo(spare[:0], batch)
		spare, last = nil, len(body)
		a := s.Send(ctx, body)
		if a.Err == nil && cap(body) <= maxSpareBody {
			spare = body
		}
		return a
	}
}
