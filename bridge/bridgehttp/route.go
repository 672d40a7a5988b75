package bridgehttp

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"strings"

	"github.com/perfline/perfline/internal/record"
)

// SetRoute sets the route of the request that ctx belongs to: the pattern that matched, such as
// "/items/{id}". The route becomes a part of the span's name, and an attribute of metrics. A
// program must not use more than a few hundred routes.
//
// [http.ServeMux] needs no call. For other routers, call SetRoute from a middleware of the router,
// before or after the handler, and wrap the whole router in [Middleware]. The last call counts.
// Calls after the request do nothing. docs/frameworks.md lists the lines for chi, gin, echo,
// gorilla/mux and httprouter.
func SetRoute(ctx context.Context, route string) {
	if u := record.FromContext(ctx).Unit(); u != nil {
		u.SetRoute(route)
	}
}

// Mount returns a handler for an inner [http.ServeMux] whose pattern the [Middleware] cannot see,
// because an outer handler copies the request. The route is the prefix followed by the inner route:
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
