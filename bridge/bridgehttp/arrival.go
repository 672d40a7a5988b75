package bridgehttp

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// error.type of answers that do not arrive whole. For other errors, error.type is the Go type.
const (
	clientLeft     = "client_closed_request"
	timedOut       = "timeout"
	wrongLength    = "content_length_mismatch"
	handlerAborted = "handler_aborted"
	handlerExited  = "handler_exited"
)

// An arrival tells whether the client gets the whole answer, as far as a middleware can know. The
// server sends the last bytes after the handler has returned, and does not report their arrival.
type arrival struct {
	failure      string        // error.type of the first write or flush that failed
	declared     int64         // Content-Length; -1 without one
	flushed      int64         // bytes of the body at the last successful flush; -1 before one
	deadline     time.Duration // for writes, on the request's timeline; 0: none
	disconnected atomic.Bool   // reading the request's body failed, on any goroutine
	http2        bool          // a write fails when the stream has ended
}

// begin sets the deadline of the server for writes.
func (a *arrival) begin(q *request, r *http.Request) {
	a.declared, a.flushed = -1, -1
	a.http2 = r.ProtoMajor == 2
	if s, ok := q.ctx.Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		a.deadline = s.WriteTimeout
	}
}

// lost returns the error.type of further writes; empty if they may reach the client. When a client
// leaves, net/http cancels the context without a cause. A context with a cause was ended by the
// program.
func (a *arrival) lost(q *request) string {
	switch {
	case a.deadline > 0 && q.tl.Now() > a.deadline:
		return timedOut
	case a.disconnected.Load(), q.ctx.Err() != nil && context.Cause(q.ctx) == context.Canceled: //nolint:errorlint // itself
		return clientLeft
	default:
		return ""
	}
}

// failed stores the error.type of a failed write, unless an earlier write failed.
func (a *arrival) failed(q *request, err error) {
	if err == nil || a.failure != "" {
		return
	}
	_, ok := record.Protect(func() { // methods of the error may panic
		switch a.failure = writeFailure(err); {
		case a.failure != "":
		case errors.Is(err, http.ErrBodyNotAllowed), errors.Is(err, http.ErrHijacked),
			errors.Is(err, http.ErrNotSupported):
			// The handler's mistake: these bytes are no part of the answer.
		case a.http2:
			a.failure = cmp.Or(a.lost(q), clientLeft)
		default:
			a.failure = cmp.Or(a.lost(q), errorType(err))
		}
	})
	if !ok {
		a.failure = errorType(err)
	}
}

// copied stores the error.type of a failed [io.ReaderFrom]. It ignores an error of the source.
func (a *arrival) copied(err error) {
	record.Protect(func() {
		for op, inner := (*net.OpError)(nil), err; errors.As(inner, &op); inner = op.Err {
			if op.Op == "read" {
				return
			}
		}
		a.failure = cmp.Or(a.failure, writeFailure(err))
	})
}

// writeFailure returns the error.type of a write error of net/http; empty for other errors.
func writeFailure(err error) string {
	switch {
	case errors.Is(err, http.ErrContentLength):
		return wrongLength
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, http.ErrHandlerTimeout):
		return timedOut
	case isDisconnect(err):
		return clientLeft
	default:
		return ""
	}
}

func isDisconnect(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, net.ErrClosed)
}

// outcome returns the error.type of the answer to r; empty if the whole answer arrives, as far as
// is known. If the handler did not return, it panicked with [http.ErrAbortHandler] (aborted) or
// ended its goroutine.
func (a *arrival) outcome(q *request, r *http.Request, returned, aborted bool) string {
	res := &q.response
	empty := r.Method == http.MethodHead || res.status == http.StatusNoContent ||
		res.status == http.StatusNotModified
	why := a.failure
	switch {
	case res.hijacked:
		return ""
	case why != "":
	case a.flushed == res.written && (a.declared == res.written || empty): // the server sent all
	default:
		why = a.lost(q)
	}
	switch {
	case why == clientLeft && res.isStream(): // the usual end of a stream
		return ""
	case why != "":
		return why
	case aborted:
		return handlerAborted
	case !returned:
		return handlerExited
	case a.declared > res.written && !empty:
		return wrongLength
	default:
		return ""
	}
}

// A requestBody is the body of a request to a server. It reports a body that breaks off, because
// the client then cannot receive the answer either.
type requestBody struct {
	countedBody
	disconnected *atomic.Bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.countedBody.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // as readers return it
		record.Protect(func() {
			if errors.Is(err, io.ErrUnexpectedEOF) || isDisconnect(err) {
				b.disconnected.Store(true)
			}
		})
	}
	return n, err
}
