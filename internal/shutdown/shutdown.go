// Package shutdown tells handlers that stream when their server shuts down, which waits for
// its requests but does not tell them.
package shutdown

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// Err is the cause of the end of a [Servers] context.
var Err = errors.New("the server shuts down")

// Servers are those that a handler's requests came to. The zero value has none. Its method may
// be called concurrently.
type Servers struct {
	mu  sync.Mutex // guards all
	all map[*http.Server]context.Context
}

// Context is a request's, which ends as well when the server that the request came to
// shuts down: with [Err] as its cause. The caller has to call done.
func (s *Servers) Context(request context.Context) (ctx context.Context, done func()) {
	server, ok := request.Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return request, func() {}
	}
	ctx, cancel := context.WithCancelCause(request)
	unregister := context.AfterFunc(s.context(server), func() { cancel(Err) })
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
