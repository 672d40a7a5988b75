package recipes

import (
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// GatewayRoute is a middleware for grpc-gateway. The pattern of the HTTP rule is the route, such as
// /stores/{id}.
func GatewayRoute(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		if pattern, ok := runtime.HTTPPattern(r.Context()); ok {
			route := strings.ReplaceAll(pattern.String(), "=*}", "}") // as the rule has it
			bridgehttp.SetRoute(r.Context(), route)
		}
		next(w, r, params)
	}
}
