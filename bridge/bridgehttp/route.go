package bridgehttp

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/text"
)

// SetRoute sets the route of the request in ctx. The route is the pattern that matched, such as
// "/items/{id}". The span's name and the metrics' attributes contain the route. A program must use
// at most a few hundred different routes.
//
// Programs with [http.ServeMux] need not call SetRoute. For another router, wrap the whole router
// in [Middleware], and call SetRoute from a middleware of the router. The call may precede or
// follow the handler. The last call sets the route. Calls after the request are ignored.
// docs/frameworks.md lists the code for chi, gin, echo, gorilla/mux and httprouter. In a router
// that is part of the program, call SetRoute before the handler, with the pattern and not with the
// path.
func SetRoute(ctx context.Context, route string) {
	if u := record.FromContext(ctx).Unit(); u != nil {
		setRoute(ctx, u, route)
	}
}

// setRoute sets the route of u, and of the active span in ctx if other instrumentation inside the
// middleware made the span. That instrumentation, such as otelhttp, does not know the route.
func setRoute(ctx context.Context, u *record.Unit, route string) {
	u.SetRoute(route)
	u.Try(serving.OfSpan, func() {
		span := trace.SpanFromContext(ctx)
		s, ok := span.(sdktrace.ReadOnlySpan)
		if !ok || route == "" || s.SpanKind() != trace.SpanKindServer ||
			s.InstrumentationScope().Name == scope.Name {
			return
		}
		route := text.Valid(record.Name(route))
		span.SetAttributes(semconv.HTTPRoute(route))
		if method, target, _ := strings.Cut(s.Name(), " "); target == "" ||
			strings.HasPrefix(target, "/") {
			span.SetName(method + " " + route)
		}
	})
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
			route, _ := u.Route()
			if route = cmp.Or(route, matchedRoute(r)); route != "" {
				setRoute(r.Context(), u, prefix+route)
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// findRoute returns the route of a request, or "". The route is the first of:
//
//   - the route of SetRoute
//   - the pattern that an http.ServeMux inside the middleware matched
//   - the route of a server span of other instrumentation inside the middleware
//   - the pattern that an http.ServeMux around the middleware matched
//
// The pattern "/" matches all remaining requests. With the status 404 or 405 it is no route: a
// router inside the mux matched nothing.
func (q *request) findRoute(r *http.Request, status int) string {
	told, found := q.tl.Unit().Route()
	if told != "" && (!found || r.Pattern == q.pattern) {
		return told
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
