package bridgehttp

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"strings"

	"github.com/perfline/perfline/internal/record"
)

// SetRoute sets the route of the request that ctx belongs to: the pattern that it matched, such as
// "/items/{id}", for the name of its span and for metrics. A program must not have more than a few
// hundred routes.
//
// [http.ServeMux] needs no call. Its pattern "/" is no route of a request that is answered with 404
// or 405. Other routers call SetRoute from a middleware of their own, before or after the handler,
// and the [Middleware] is around the whole router. The last call counts, and calls after the
// request do nothing. docs/frameworks.md has the lines for chi, gin, echo, gorilla/mux and
// httprouter.
func SetRoute(ctx context.Context, route string) {
	if u := record.FromContext(ctx).Unit(); u != nil {
		u.SetRoute(route)
	}
}

// Mount returns a handler for an [http.ServeMux] inside another one, whose pattern the [Middleware]
// cannot see because the request is copied on the way. The route is the prefix and the route below
// it:
//
//	mux.Handle("/api/", http.StripPrefix("/api", bridgehttp.Mount("/api", api)))
//	mux.Handle("/slow/", http.TimeoutHandler(bridgehttp.Mount("", slow), time.Second, ""))
//
// Mounts may be within each other.
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

// route returns the route of a request with this status: from SetRoute, or from the pattern that an
// http.ServeMux matched. The pattern "/" takes what no other pattern matches. It is no route when
// the answer is 404 or 405: a router behind it matched nothing.
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

// matchedRoute returns the route of the pattern that an http.ServeMux matched. When the mux
// redirects a CONNECT from /tree to /tree/, it sets Pattern to the client's path, which is no
// route: Go 1.26 cleans the path before, Go 1.27 does not.
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
