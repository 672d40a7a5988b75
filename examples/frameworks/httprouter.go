package frameworks

import (
	"net/http"

	"github.com/julienschmidt/httprouter"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// HTTPRouterRoute wraps the handle of a route, because the router tells no handler its route.
func HTTPRouterRoute(route string, h httprouter.Handle) (string, httprouter.Handle) {
	return route, func(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
		bridgehttp.SetRoute(r.Context(), route)
		h(w, r, ps)
	}
}
