package mcpserver

import (
	"context"

	"github.com/perfline/perfline/internal/serve"
)

// callKey is the key under which a tool's context holds the context of the HTTP request: in older
// versions of the protocol, a tool's context does not end when the client leaves.
type callKey struct{}

func withCall(ctx context.Context) context.Context { return context.WithValue(ctx, callKey{}, ctx) }

// callContext returns a tool's context, which also ends with the HTTP request. The caller must call
// done.
func callContext(ctx context.Context) (_ context.Context, done func()) {
	call, ok := ctx.Value(callKey{}).(context.Context)
	if !ok {
		return ctx, func() {}
	}
	return serve.Until(ctx, call)
}
