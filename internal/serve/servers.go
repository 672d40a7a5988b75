package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// ErrShutdown is the cause of the end of a [Servers] context.
var ErrShutdown = errors.New("the server shuts down")

// Servers are those that a handler's requests came to. A server waits for its requests when it
// shuts down, and does not tell them. The zero value has no server. Context may be called
// concurrently.
type Servers struct {
	mu  sync.Mutex // guards all
	all map[*http.Server]context.Context
}

// Context is a request's, which ends as well when the server that the request came to
// shuts down: with [ErrShutdown] as its cause. The caller has to call done.
func (s *Servers) Context(request context.Context) (ctx context.Context, done func()) {
	server, ok := request.Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return request, func() {}
	}
	ctx, cancel := context.WithCancelCause(request)
	unregister := context.AfterFunc(s.context(server), func() { cancel(ErrShutdown) })
	return ctx, func() {
		unregister()
		cancel(nil)
	}
}

// context ends when the server shuts down.
func (s *Servers) context(server *http.Server) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.all[server]; ok {
		return known
	}
	ctx, cancel := context.WithCancel(context.Background())
	server.RegisterOnShutdown(cancel)
	if s.all == nil {
		s.all = map[*http.Server]context.Context{}
	}
	s.all[server] = ctx //nolint:fatcontext // one for each server, none within another
	return ctx
}
