package service

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
)

// start counts a start of a session, or returns an error that says when to try again. undo takes
// the start back.
func (s *server) start() (undo func(), err error) {
	now := time.Now()
	switch wait := s.starts.Take(now); {
	case wait == 0:
		return func() { s.starts.Undo(now) }, nil
	case s.starts.Most() == 0:
		return nil, connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("starts: none are allowed here"))
	default:
		return nil, connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("starts: %d in a minute are allowed: try again in %v", s.starts.Most(),
				wait.Round(time.Second)))
	}
}

// stream takes a place for a stream until done is called. Its context also ends when the server
// shuts down. The caller calls send before each message: it sets the deadline by which the client
// must have read the message.
func (s *server) stream(request context.Context) (ctx context.Context, send, done func(),
	err error) {
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

// controllerKey is the key of the response controller in a request's context. Connect does not pass
// it on.
type controllerKey struct{}

func withController(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), controllerKey{}, http.NewResponseController(w))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
