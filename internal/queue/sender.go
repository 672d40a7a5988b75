// Package queue keeps data for a receiver until it is sent.
package queue

import (
	"context"
	"time"
)

// A Sender sends one request and waits for the answer, or for the end of ctx. It does not change body. After an
// answer with an error it may still read body: the same bytes may be sent again, other ones need another slice.
type Sender interface {
	Send(ctx context.Context, body []byte) Answer
}

// An Answer is the outcome of one attempt to send a request.
type Answer struct {
	Err      error         // nil: the receiver took the request, except for Rejected
	Retry    bool          // the same request may succeed later
	After    time.Duration // the receiver asks to wait so long; 0: the queue's own backoff
	Rejected int64         // how many items the receiver turned down (partial success)
	Message  string        // why; with Rejected == 0, a warning
}
