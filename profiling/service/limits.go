package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
)

// start counts the start of a session. It returns an error that says when to try again if the limit
// is reached. undo takes the start back.
func (s *server) start() (undo func(), err error) {
	now := time.Now()
	wait, most := s.starts.Take(now), s.starts.Most()
	switch {
	case wait == 0:
		return func() { s.starts.Undo(now) }, nil
	case most == 0:
		err = errors.New("starts: none are allowed here")
	default:
		err = fmt.Errorf("starts: %d in a minute are allowed: try again in %v",
			most, wait.Round(time.Second))
	}
	return nil, connect.NewError(connect.CodeResourceExhausted, err)
}

// stream reserves a place for a stream, which done frees. ctx ends with the request and with the
// server's shutdown. The caller calls send before each message, to set the deadline by which the
// client must have read the message.
func (s *server) stream(request context.Context) (
	ctx context.Context, send, done func(), err error) {
	select {
	case s.streams <- struct{}{}:
	default:
		return nil, nil, nil, connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("streams: %d at a time are allowed: try again when one has ended",
				cap(s.streams)))
	}
	controller, _ := request.Value(controllerKey{}).(*http.ResponseController)
	// A response writer without deadlines, as in tests, returns an error.
	send = func() { _ = controller.SetWriteDeadline(time.Now().Add(s.sendTimeout)) }
	ctx, unwatch := s.servers.Context(request)
	done = func() {
		unwatch()
		<-s.streams
		_ = controller.SetWriteDeadline(time.Time{}) // the connection may serve other requests now
	}
	return ctx, send, done, nil
}

// controllerKey is the context key of the response controller, which connect does not pass on.
type controllerKey struct{}

func withController(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), controllerKey{}, http.NewResponseController(w))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
