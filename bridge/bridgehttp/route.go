package bridgehttp

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"strings"

	"github.com/perfline/perfline/internal/record"
)

// SetRoute sets the route of the request in ctx. The route is the pattern that matched, such as
// "/items/{id}". The span's name and the metrics' attributes contain the route. A program must use
// at most a few hundred different routes.
//
// Programs with [http.ServeMux] need not call SetRoute. For another router, wrap the whole router
// in [Middleware], and call SetRoute from a middleware of the router. The call may precede or
// follow the handler. The last call sets the route. Calls after the request are ignored.
// docs/frameworks.md lists the code for chi, gin, echo, gorilla/mux and httprouter.
func SetRoute(ctx context.Context, route string) {
	if u := record.FromContext(ctx).Unit(); u != nil {
		u.SetRoute(route)
	}
}

// Mount returns a handler that calls h and sets the request's route. The route is the prefix
// followed by the route that h matched. Use Mount for an inner [http.ServeMux] if an outer handler
// copies the request. The copy hides the inner pattern from the [Middleware]:
//
//	mux.Handle("/api/", http.StripPrefix("/api", bridgehttp.Mount("/api", api)))
//	mux.Handle("/slow/", http.TimeoutHandler(bridgehttp.Mount("", slow), time.Second, ""))
//
// Mounts may be nested.
func Mount(prefix string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { // also if h panics
			u := record.FromContext(r.Context()).Unit()
			if u == nil {
				return
			}
			if route := cmp.Or(u.Route(), matchedRoute(r)); route != "" {
				u.SetRoute(prefix + route)
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// route returns the route of a request: from SetRoute, or from the pattern that an http.ServeMux
// matched. The pattern "/" matches all remaining requests. With the status 404 or 405 it is no
// route: a router inside the mux matched nothing.
func (q *request) route(r *http.Request, status int) string {
	if route := q.tl.Unit().Route(); route != "" {
		return route
	}
	route := matchedRoute(r)
	if route == "/" && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		return ""
	}
	return route
}

// matchedRoute returns the route of the pattern that an http.ServeMux matched. For a CONNECT that
// the mux redirects from /tree to /tree/, Pattern is the client's path, which is no route. Go 1.26
// cleans this path, Go 1.27 does not.
func matchedRoute(r *http.Request) string {
	if r.Method == http.MethodConnect &&
		(r.Pattern == r.URL.Path+"/" || r.Pattern == path.Clean("/"+r.URL.Path)+"/") {
		return ""
	}
	if slash := strings.IndexByte(r.Pattern, '/'); slash >= 0 {
		return r.Pattern[slash:] // of "METHOD host/path"
	}
	return ""
}
