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

// errorCodes maps errors to codes. The first entry that an error wraps counts.
var errorCodes = []struct {
	err        error
	code       connect.Code
	badRequest bool // the Scope Profiler's BAD_REQUEST
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

// status returns err with a code of the schema, unless err has a code already.
func status(err error) error {
	if coded := (*connect.Error)(nil); err == nil || errors.As(err, &coded) {
		return err
	}
	for _, c := range errorCodes {
		if errors.Is(err, c.err) {
			answer := connect.NewError(c.code, clientError(err))
			if c.badRequest {
				// The encoding of an ErrorInfo never fails.
				d, err := connect.NewErrorDetail(
					&errdetails.ErrorInfo{Reason: "BAD_REQUEST", Domain: "perfline.profiler.v1"})
				if err == nil {
					answer.AddDetail(d)
				}
			}
			return answer
		}
	}
	return connect.NewError(connect.CodeInternal, clientError(err))
}

// maxError is the most bytes of an error's text. Over gRPC, the text is a header.
const maxError = 1 << 10

// clientError returns an error with a short, visible text: errors quote values of the client.
func clientError(err error) error { return errors.New(text.Line(record.ErrorText(err), maxError)) }

func refuse(w http.ResponseWriter, r *http.Request, err error) {
	// A failure to write means that the client is gone.
	_ = connect.NewErrorWriter().Write(w, r, connect.NewError(connect.CodePermissionDenied, err))
}
