package recipes

import (
	"context"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// ConnectRoute is an interceptor for handlers of connect. The procedure is the route.
type ConnectRoute struct{}

// WrapUnary is for calls of one request and one answer.
func (ConnectRoute) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		bridgehttp.SetRoute(ctx, req.Spec().Procedure)
		return next(ctx, req)
	}
}

// WrapStreamingHandler is for streams. By their types, the middleware knows only the streams of
// Connect's own protocol, and not those of gRPC and gRPC-Web.
func (ConnectRoute) WrapStreamingHandler(
	next connect.StreamingHandlerFunc,
) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		bridgehttp.SetRoute(ctx, conn.Spec().Procedure)
		bridgehttp.SetStream(ctx)
		return next(ctx, conn)
	}
}

// WrapStreamingClient changes nothing.
func (ConnectRoute) WrapStreamingClient(
	next connect.StreamingClientFunc,
) connect.StreamingClientFunc {
	return next
}
