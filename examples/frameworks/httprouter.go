package frameworks

import (
	"net/http"

	"github.com/julienschmidt/httprouter"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// HTTPRouterRoute is around the handle of a route, because the router does not tell the route that
// matched.
func HTTPRouterRoute(route string, h httprouter.Handle) (string, httprouter.Handle) {
	return route, func(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
		bridgehttp.SetRoute(r.Context(), route)
		h(w, r, ps)
	}
}
