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
	return Until(request, s.context(server))
}

// Until returns ctx, which ends as well when other does, with the cause of that. The caller has to
// call done.
func Until(ctx, other context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unregister := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
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
	ctx, cancel := context.WithCancelCause(context.Background())
	server.RegisterOnShutdown(func() { cancel(ErrShutdown) })
	if s.all == nil {
		s.all = map[*http.Server]context.Context{}
	}
	s.all[server] = ctx //nolint:fatcontext // one for each server, none within another
	return ctx
}
