package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

var (
	errShutdown = errors.New("the server shuts down")
	errTooLong  = errors.New("the call took too long")
)

// servers are the servers that calls came to. They wait for their requests when they shut down, and do not tell them.
type servers struct {
	mu  sync.Mutex // guards all
	all map[*http.Server]context.Context
}

// context returns the context of a call, which also ends after a time, and when the server of the request shuts down.
func (s *servers) context(request context.Context, most time.Duration) (ctx context.Context, done func()) {
	ctx, end := context.WithTimeoutCause(request, most, errTooLong)
	server, ok := request.Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return ctx, end
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unregister := context.AfterFunc(s.lifetime(server), func() { cancel(errShutdown) })
	return ctx, func() {
		unregister()
		cancel(nil)
		end()
	}
}

// lifetime ends when the server shuts down.
func (s *servers) lifetime(server *http.Server) context.Context {
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

// callKey is the key of the HTTP request's context in the context of a tool. The protocol's older versions do not end a tool when its
// client leaves.
type callKey struct{}

func withCall(ctx context.Context) context.Context { return context.WithValue(ctx, callKey{}, ctx) }

// untilGone returns a tool's context, which also ends when the HTTP request does.
func untilGone(ctx context.Context) (_ context.Context, done func()) {
	call, ok := ctx.Value(callKey{}).(context.Context)
	if !ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unregister := context.AfterFunc(call, func() { cancel(context.Cause(call)) })
	return ctx, func() {
		unregister()
		cancel(nil)
	}
}
