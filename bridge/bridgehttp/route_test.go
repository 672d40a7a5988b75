package bridgehttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// The span's name has the route, however the handler came to it.
func TestRoutes(t *testing.T) {
	set := func(routes ...string) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for _, route := range routes {
				bridgehttp.SetRoute(r.Context(), route)
			}
		})
	}
	on := func(pattern string, h http.Handler) *http.ServeMux {
		mux := http.NewServeMux()
		mux.Handle(pattern, h)
		return mux
	}
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for _, c := range []struct {
		name, path string
		h          http.Handler
		want       string
	}{
		{"none", "/a", ok, "GET"},
		{"the pattern of a ServeMux", "/a/7", on("GET example.com/a/{id}", ok), "GET /a/{id}"},
		{"a catch-all", "/a", on("/", ok), "GET /"},
		{"a catch-all that finds nothing", "/a", on("/", http.NotFoundHandler()), "GET"},
		{"a catch-all that tells its route and finds nothing", "/a", on("/", on("/a", http.NotFoundHandler())), "GET /a"},
		{"told", "/a", set("/told"), "GET /told"},
		{"the last one that was told", "/a", set("/first", "/last"), "GET /last"},
		{"told, inside a pattern", "/a", on("/a", set("/told")), "GET /told"},
		{"told nothing", "/a", on("/a", set("")), "GET /a"},
		{"StripPrefix", "/api/a/7", on("/api/", http.StripPrefix("/api", bridgehttp.Mount("/api", on("/a/{id}", ok)))), "GET /api/a/{id}"},
		{"StripPrefix, without Mount", "/api/a/7", on("/api/", http.StripPrefix("/api", on("/a/{id}", ok))), "GET /api/"},
		{
			"two of them", "/api/v1/a/7",
			on("/api/", http.StripPrefix("/api", bridgehttp.Mount("/api", on("/v1/", http.StripPrefix("/v1", bridgehttp.Mount("/v1", on("/a/{id}", ok))))))),
			"GET /api/v1/a/{id}",
		},
		{"TimeoutHandler", "/a/7", http.TimeoutHandler(bridgehttp.Mount("", on("/a/{id}", ok)), time.Minute, ""), "GET /a/{id}"},
		{"not found below", "/api/b", on("/api/", http.StripPrefix("/api", bridgehttp.Mount("/api", on("/a/{id}", ok)))), "GET /api/"},
		{"told, inside a Mount", "/api/a", on("/api/", http.StripPrefix("/api", bridgehttp.Mount("/api", set("/told")))), "GET /api/told"},
		{"not UTF-8", "/a", set("/\xff"), "GET /\uFFFD"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			req := httptest.NewRequest(http.MethodGet, "http://example.com"+c.path, http.NoBody)
			server := r.server()
			server.Middleware(c.h).ServeHTTP(httptest.NewRecorder(), req)
			r.flush(t)
			span := r.got.one(t, c.want)
			if route := tag(span, "http.route"); c.want != "GET" && "GET "+route != c.want {
				t.Errorf("http.route is %q in the span %q", route, c.want)
			}
		})
	}
	bridgehttp.SetRoute(context.Background(), "/of no request") // does nothing
}

// A handler that panics has its route, too.
func TestMountPanics(t *testing.T) {
	r := withProcessor(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/a/{id}", func(http.ResponseWriter, *http.Request) { panic("a") })
	server := r.server()
	h := server.Middleware(http.StripPrefix("/api", bridgehttp.Mount("/api", mux)))
	func() {
		defer func() { _ = recover() }()
		h.ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/api/a/7", nil))
	}()
	r.flush(t)
	r.got.one(t, "GET /api/a/{id}")
}
