package recipes

import (
	"context"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// ConnectRoute is an interceptor for handlers of connect. The procedure is the route.
func ConnectRoute() connect.Interceptor {
	return connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			bridgehttp.SetRoute(ctx, req.Spec().Procedure)
			return next(ctx, req)
		}
	})
}
