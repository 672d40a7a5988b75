package bridgehttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/perfline/perfline/observer"
)

// Whatever a client asks for, its span has a name and a route of the application's, and text that
// OTLP can carry.
func FuzzRoute(f *testing.F) {
	f.Add("GET", "/shelf/7", "shop.example", "agent", "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01", "a=b")
	f.Add("CONNECT", "/shelf/..", "shop.example:80", "\xff", "", "")
	f.Add("CONNECT", "/shelf//7", "h", "", "01-x", ",")
	f.Add("STEAL", "//files/%2e%2e/x", "", "", "00-0-0-0", "\xff")
	patterns := []string{"/{$}", "/shelf/{id}/", "GET /shelf/{id}/x", "/files/{path...}", "shop.example/here", "CONNECT /tunnel/{to}"}
	routes := []string{"", "/{$}", "/shelf/{id}/", "/shelf/{id}/x", "/files/{path...}", "/here", "/tunnel/{to}"}
	mux := http.NewServeMux()
	for _, p := range patterns {
		mux.HandleFunc(p, func(http.ResponseWriter, *http.Request) {})
	}
	f.Fuzz(func(t *testing.T, method, path, host, agent, parent, state string) {
		r := withProcessor(t)
		req := httptest.NewRequest(http.MethodGet, "http://shop.example/", nil).WithContext(observer.NewContext(context.Background(), r.tl))
		req.Method, req.URL.Path, req.Host = method, path, host
		req.Header["User-Agent"], req.Header["Traceparent"], req.Header["Tracestate"] = []string{agent}, []string{parent}, []string{state}
		r.wrap(mux).ServeHTTP(httptest.NewRecorder(), req)
		r.flush(t)
		spans := r.got.all()
		if len(spans) != 1 {
			t.Fatalf("spans %v, want one", r.got.names())
		}
		s := spans[0]
		route := tag(s, "http.route")
		if !slices.Contains(routes, route) {
			t.Errorf("%s %q has route %q, which nobody registered", method, path, route)
		}
		known := tag(s, "http.request.method")
		if known == "_OTHER" {
			known = "HTTP"
		}
		name := known
		if route != "" {
			name += " " + route
		}
		if s.Name() != name {
			t.Errorf("span %q, want %q", s.Name(), name)
		}
		for _, kv := range s.Attributes() {
			if v := kv.Value.String(); !utf8.ValidString(v) {
				t.Errorf("%s is %q, which is not UTF-8", kv.Key, v)
			}
		}
	})
}
