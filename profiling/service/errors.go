package service

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/internal/shutdown"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// status is a recorder's error as one of the schema's codes.
func status(err error) error {
	var bad sessions.BadRequestError
	var done *connect.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &done): // of sending, for example
		return err
	case errors.As(err, &bad):
		return connect.NewError(connect.CodeInvalidArgument, err)
	case errors.Is(err, profiling.ErrNotAllowed):
		return connect.NewError(connect.CodePermissionDenied, err)
	case errors.Is(err, shutdown.Err):
		return connect.NewError(connect.CodeUnavailable, err)
	case errors.Is(err, context.Canceled):
		return connect.NewError(connect.CodeCanceled, err)
	case errors.Is(err, context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, err)
	default:
		return connect.NewError(connect.CodeInternal, err)
	}
}

// refuse tells who may not come why, in the terms of the protocol that is spoken.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	// What cannot be written has nobody left to read it.
	_ = connect.NewErrorWriter().Write(w, r, connect.NewError(connect.CodePermissionDenied, err))
}
