package queue

import (
	"context"
	"time"
)

// A Sender sends requests to a receiver. Send sends one request, and waits for the answer or for
// the end of ctx.
//
//   - The queue calls Send on one goroutine at a time.
//   - Send must return soon after ctx ends, and may return the error of ctx.
//   - Send must not change body. After an answer without an error, Send must not read body.
//   - The fields Err and Message of the [Answer] must not contain secrets, because the queue logs
//     both fields.
//   - The queue handles a panic in the same way as an answer with an error and without Retry.
type Sender interface {
	Send(ctx context.Context, body []byte) Answer
}

// An Answer is the result of a request. If an Answer is zero, the receiver accepted all items.
type Answer struct {
	Err        error         // nil: the receiver accepted the request, except for Rejected items
	Retry      bool          // with Err: the same request may succeed later
	After      time.Duration // with Retry: pause that the receiver requests; 0: the queue chooses
	TooLarge   bool          // with Err: the receiver refuses requests of this size
	Defer      bool          // with Retry: send other items first; this request may be the cause
	Unanswered bool          // with Err: the receiver may have accepted the request
	Unknown    bool          // with Err, without Retry: unsupported data; see [Config].UnknownPause
	Rejected   int64         // without Err: sum of Count of the items that the receiver rejected
	Message    string        // the reason for Rejected, or a warning if Rejected is 0
}

// maxSpareBody bounds the buffer that is reused for the next request, in bytes. Larger requests are
// rare.
const maxSpareBody = 1 << 20

// Encoded returns a function for [Config].Send. The function encodes a batch with the function
// appendTo, and sends the bytes with the sender s. appendTo appends the request to body.
//
// The function reuses a buffer of at most 1 MiB after an answer without an error. After an error,
// the function uses a new buffer, because the transport may still read the old buffer. The new
// buffer is as large as the last request, because the queue may send that request again.
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
