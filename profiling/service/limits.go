package service

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
)

// A rate limits what happens in any minute.
type rate struct {
	most int

	mu   sync.Mutex
	last []time.Time // of each take, the oldest first; mu guards it
}

func newRate(perMinute int) *rate {
	return &rate{most: max(0, perMinute)}
}

// take counts one use, or returns an error that says when to try again. undo takes the use back.
func (r *rate) take() (undo func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most == 0 {
		return nil, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("starts: none are allowed here"))
	}
	now := time.Now()
	r.last = slices.DeleteFunc(r.last, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(r.last) >= r.most {
		return nil, connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("starts: %d in a minute are allowed: try again in %v", r.most, (time.Minute-now.Sub(r.last[0])).Round(time.Second)))
	}
	r.last = append(r.last, now)
	return func() { r.undo(now) }, nil
}

func (r *rate) undo(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.last, at); i >= 0 {
		r.last = slices.Delete(r.last, i, i+1)
	}
}

// stream takes a place for a stream until done is called. Its context also ends when the server shuts down. The caller
// calls send before each message: it sets the deadline by which the client must have read the message.
func (s *server) stream(request context.Context) (ctx context.Context, send, done func(), err error) {
	select {
	case s.streams <- struct{}{}:
	default:
		return nil, nil, nil, connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("streams: %d at a time are allowed: try again when one has ended", cap(s.streams)))
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

// controllerKey is the key of the response controller in a request's context. Connect does not pass it on.
type controllerKey struct{}

func withController(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), controllerKey{}, http.NewResponseController(w))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
