package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perfline/perfline/guard"
)

// Only clients on this machine get a profile. In a container, the address of a client says nothing, and
// the other rules stand.
func TestPublished(t *testing.T) {
	const home, elsewhere = "127.0.0.1:4711", "172.18.0.1:4711"
	for _, c := range []struct {
		name         string
		authorize    func(*http.Request) error
		remote, host string
		header       string // of a proxy
		status       int
	}{
		{"this machine", nil, home, "localhost:8080", "", http.StatusOK},
		{"elsewhere", nil, elsewhere, "localhost:8080", "", http.StatusForbidden},
		{"a rebound name", nil, home, "evil.example", "", http.StatusForbidden},
		{"published: the engine's address", published, elsewhere, "localhost:8080", "", http.StatusOK},
		{"published: on another port", published, elsewhere, "127.0.0.1:18080", "", http.StatusOK},
		{"published: a rebound name", published, elsewhere, "evil.example:8080", "", http.StatusForbidden},
		{"published: by its name among containers", published, elsewhere, "shop:8080", "", http.StatusForbidden},
		{"published: behind a proxy", published, elsewhere, "localhost:8080", "X-Forwarded-For", http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/debug/pprof/profile", http.NoBody)
			r.RemoteAddr, r.Host = c.remote, c.host
			if c.header != "" {
				r.Header.Set(c.header, "192.0.2.7")
			}
			rec := httptest.NewRecorder()
			guard.Guard{Authorize: c.authorize}.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(rec, r)
			if rec.Code != c.status {
				t.Errorf("from %s, asking %s: status %d, want %d", c.remote, c.host, rec.Code, c.status)
			}
			if r.RemoteAddr != c.remote {
				t.Errorf("the request's address has become %s", r.RemoteAddr)
			}
		})
	}
}
