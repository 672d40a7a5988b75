package service

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/serve"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// errorCodes are the codes of errors, by what they wrap. The first match counts.
var errorCodes = []struct {
	err        error
	code       connect.Code
	badRequest bool // Scope's BAD_REQUEST
}{
	{sessions.ErrInvalid, connect.CodeInvalidArgument, true},
	{sessions.ErrNotFound, connect.CodeNotFound, true},
	{sessions.ErrInProgress, connect.CodeFailedPrecondition, true},
	{sessions.ErrState, connect.CodeFailedPrecondition, true},
	{sessions.ErrFull, connect.CodeResourceExhausted, true},
	{sessions.ErrClosed, connect.CodeUnavailable, false},
	{profiling.ErrNotAllowed, connect.CodePermissionDenied, false},
	{serve.ErrShutdown, connect.CodeUnavailable, false},
	{context.Canceled, connect.CodeCanceled, false},
	{context.DeadlineExceeded, connect.CodeDeadlineExceeded, false},
}

// status returns a recorder's error as one of the schema's codes. An error that has a code keeps
// it.
func status(err error) error {
	if done := (*connect.Error)(nil); err == nil || errors.As(err, &done) {
		return err
	}
	for _, c := range errorCodes {
		if errors.Is(err, c.err) {
			answer := connect.NewError(c.code, said(err))
			if c.badRequest {
				// The error is without the detail only if that cannot be encoded, and an ErrorInfo
				// can.
				if d, err := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: "BAD_REQUEST",
					Domain: "perfline.profiler.v1"}); err == nil {
					answer.AddDetail(d)
				}
			}
			return answer
		}
	}
	return connect.NewError(connect.CodeInternal, said(err))
}

// maxSaid is how many bytes of an error a client gets. It is a header over gRPC.
const maxSaid = 1 << 10

// said returns an error for a client. It may quote what the client has sent.
func said(err error) error { return errors.New(text.Line(record.ErrorText(err), maxSaid)) }

// refuse answers a client that is not allowed, in its protocol.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	// An answer that cannot be written has no reader left.
	_ = connect.NewErrorWriter().Write(w, r, connect.NewError(connect.CodePermissionDenied, err))
}
