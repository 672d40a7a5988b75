package mcpserver

import (
	"context"

	"github.com/perfline/perfline/internal/serve"
)

// callKey is the key of the HTTP request's context in the context of a tool. The protocol's older
// versions do not end a tool when its client leaves.
type callKey struct{}

func withCall(ctx context.Context) context.Context { return context.WithValue(ctx, callKey{}, ctx) }

// untilGone returns a tool's context, which also ends when the HTTP request does.
func untilGone(ctx context.Context) (_ context.Context, done func()) {
	call, ok := ctx.Value(callKey{}).(context.Context)
	if !ok {
		return ctx, func() {}
	}
	return serve.Until(ctx, call)
}
