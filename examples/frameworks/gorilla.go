package frameworks

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// GorillaRoute is a middleware for gorilla/mux.
func GorillaRoute(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if route, err := mux.CurrentRoute(r).GetPathTemplate(); err == nil {
			bridgehttp.SetRoute(r.Context(), route)
		}
		next.ServeHTTP(w, r)
	})
}
