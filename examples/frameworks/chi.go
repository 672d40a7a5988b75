package frameworks

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// ChiRoute is a middleware for chi. The route is complete after the handler.
func ChiRoute(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		defer func() { bridgehttp.SetRoute(ctx, chi.RouteContext(ctx).RoutePattern()) }()
		next.ServeHTTP(w, r)
	})
}
