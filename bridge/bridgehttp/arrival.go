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

// error.type of answers that do not arrive whole. An error of another kind has its type.
const (
	clientGone     = "client_closed_request"
	timedOut       = "timeout"
	wrongLength    = "content_length_mismatch"
	handlerAborted = "handler_aborted"
	handlerExited  = "handler_exited"
)

// An arrival says whether the client gets the whole answer, as far as a middleware can know. The
// server sends the end of an answer after the handler has returned, and tells nobody whether the
// client got it.
type arrival struct {
	failure  string        // of the first write or flush that failed
	declared int64         // Content-Length; -1 without one
	flushed  int64         // bytes of the body at the last flush that did not fail; -1 before one
	until    time.Duration // on the request's timeline, when writes fail; 0: never
	left     atomic.Bool   // the request's body broke off. A handler may read on another goroutine

	http2 bool // a write fails when the stream has ended
}

// begin starts with the server's own deadline.
func (a *arrival) begin(q *request, r *http.Request) {
	a.declared, a.flushed = -1, -1
	a.http2 = r.ProtoMajor == 2
	if s, ok := q.ctx.Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		a.until = s.WriteTimeout
	}
}

// lost returns why nothing more reaches the client; empty as far as is known. A context that ended
// for a cause is the program's doing: net/http gives none when a client leaves.
func (a *arrival) lost(q *request) string {
	switch {
	case a.until > 0 && q.tl.Now() > a.until:
		return timedOut
	case a.left.Load(), q.ctx.Err() != nil && context.Cause(q.ctx) == context.Canceled: //nolint:errorlint // itself
		return clientGone
	default:
		return ""
	}
}

// failed notes why a write failed.
func (a *arrival) failed(q *request, err error) {
	if err == nil || a.failure != "" {
		return
	}
	_, told := record.Protect(func() { // methods of the error may panic
		switch a.failure = writeFailure(err); {
		case a.failure != "":
		case errors.Is(err, http.ErrBodyNotAllowed), errors.Is(err, http.ErrHijacked),
			errors.Is(err, http.ErrNotSupported):
			// What was not written is no part of the answer.
		case a.http2:
			a.failure = cmp.Or(a.lost(q), clientGone)
		default:
			a.failure = cmp.Or(a.lost(q), errorType(err))
		}
	})
	if !told {
		a.failure = errorType(err)
	}
}

// copied notes why [io.ReaderFrom] failed, unless its source did.
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

// writeFailure returns error.type of an error of a server's writer; empty for another error.
func writeFailure(err error) string {
	switch {
	case errors.Is(err, http.ErrContentLength):
		return wrongLength
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, http.ErrHandlerTimeout):
		return timedOut
	case isDisconnect(err):
		return clientGone
	default:
		return ""
	}
}

func isDisconnect(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, net.ErrClosed)
}

// outcome returns error.type of the answer to r; empty if the answer arrives whole, as far as is
// known. The handler returned, or else panicked with [http.ErrAbortHandler] or ended its goroutine.
func (a *arrival) outcome(q *request, r *http.Request, returned, aborted bool) string {
	res := &q.response
	empty := r.Method == http.MethodHead || res.status == http.StatusNoContent ||
		res.status == http.StatusNotModified
	why := a.failure
	switch {
	case res.hijacked:
		return ""
	case why != "":
	case a.flushed == res.written && (a.declared == res.written || empty): // all of it was sent
	default:
		why = a.lost(q)
	}
	switch {
	case why == clientGone && res.isStream(): // a stream ends so
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

// An arrivingBody is the body of a request to a server. It notes when the body breaks off, since
// the connection is then of no use.
type arrivingBody struct {
	countedBody
	left *atomic.Bool
}

func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.countedBody.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // as readers return it
		record.Protect(func() {
			if errors.Is(err, io.ErrUnexpectedEOF) || isDisconnect(err) {
				b.left.Store(true)
			}
		})
	}
	return n, err
}
