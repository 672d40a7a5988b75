package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// ErrShutdown is the cause of a context of [Servers] after the server has shut down.
var ErrShutdown = errors.New("the server shuts down")

// Servers ends the requests of a handler when the server shuts down. Without Servers, an open
// stream delays http.Server.Shutdown. Shutdown waits for requests in progress, and does not cancel
// the contexts of the requests. The zero value is ready to use. Context may be called concurrently.
type Servers struct {
	mu       sync.Mutex // guards contexts
	contexts map[*http.Server]context.Context
}

// Context returns a context that ends when the context of a request ends. The result also ends when
// the request's server shuts down, with the cause [ErrShutdown]. The caller must call done.
func (s *Servers) Context(request context.Context) (ctx context.Context, done func()) {
	server, ok := request.Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return request, func() {}
	}
	return Until(request, s.context(server))
}

// Until returns a context that ends when the context ctx or the context other ends. If other ends
// first, the result reports the cause of other. The caller must call done.
func Until(ctx, other context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unregister := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() {
		unregister()
		cancel(nil)
	}
}

// context returns a context that ends when the server shuts down.
func (s *Servers) context(server *http.Server) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.contexts[server]; ok {
		return known
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	server.RegisterOnShutdown(func() { cancel(ErrShutdown) })
	if s.contexts == nil {
		s.contexts = map[*http.Server]context.Context{}
	}
	s.contexts[server] = ctx //nolint:fatcontext // one for each server, none within another
	return ctx
}
