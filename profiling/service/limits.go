package service

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
)

// A rate lets so many through in any minute.
type rate struct {
	now func() time.Time

	mu   sync.Mutex
	last []time.Time // of those let through, a ring; mu guards it
	next int         // the oldest of last; mu guards it
}

func newRate(perMinute int, now func() time.Time) *rate {
	return &rate{now: now, last: make([]time.Time, max(0, perMinute))}
}

// take is nil, or says when to come again.
func (r *rate) take() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.last) == 0 {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("starts: none are allowed here"))
	}
	now, oldest := r.now(), r.last[r.next]
	if wait := time.Minute - now.Sub(oldest); !oldest.IsZero() && wait > 0 {
		return connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("starts: %d in a minute are allowed: try again in %v", len(r.last), wait.Round(time.Second)))
	}
	r.last[r.next] = now
	r.next = (r.next + 1) % len(r.last)
	return nil
}

// stream takes a place for a stream until done is called. Its context is request, and ends at the
// server's shutdown, too. send is for use before each message: the client has so long to take it.
func (s *server) stream(request context.Context) (ctx context.Context, send, done func(), err error) {
	select {
	case s.streams <- struct{}{}:
	default:
		return nil, nil, nil, connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("streams: %d at a time are allowed: try again when one has ended", cap(s.streams)))
	}
	controller, _ := request.Value(controllerKey{}).(*http.ResponseController)
	// A server or a recorder of tests without deadlines has none: nothing can be done about that.
	send = func() { _ = controller.SetWriteDeadline(time.Now().Add(s.sendTimeout)) }
	ctx, unwatch := s.servers.Context(request)
	done = func() {
		unwatch()
		<-s.streams
		_ = controller.SetWriteDeadline(time.Time{}) // the connection may serve others now
	}
	return ctx, send, done, nil
}

// controllerKey is the key in a request's context of how to set its deadlines, which
// connect does not tell.
type controllerKey struct{}

func withController(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), controllerKey{}, http.NewResponseController(w))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
