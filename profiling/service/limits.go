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

// A rate lets so many through in any minute.
type rate struct {
	most int
	now  func() time.Time

	mu   sync.Mutex
	last []time.Time // of those let through, the oldest first; mu guards it
}

func newRate(perMinute int, now func() time.Time) *rate {
	return &rate{most: max(0, perMinute), now: now}
}

// take lets one through until giveBack is called, which is for what did not come to pass, or
// says when to come again.
func (r *rate) take() (giveBack func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most == 0 {
		return nil, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("starts: none are allowed here"))
	}
	now := r.now()
	r.last = slices.DeleteFunc(r.last, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(r.last) >= r.most {
		return nil, connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("starts: %d in a minute are allowed: try again in %v", r.most, (time.Minute-now.Sub(r.last[0])).Round(time.Second)))
	}
	r.last = append(r.last, now)
	return func() { r.giveBack(now) }, nil
}

func (r *rate) giveBack(taken time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.last, taken); i >= 0 {
		r.last = slices.Delete(r.last, i, i+1)
	}
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
