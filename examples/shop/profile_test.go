package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Whoever comes from elsewhere gets no profile.
func TestProfilesAreLocal(t *testing.T) {
	h := onlyLocal(func(http.ResponseWriter, *http.Request) {})
	for _, c := range []struct {
		remote, host string
		status       int
	}{
		{"127.0.0.1:4711", "localhost:8080", http.StatusOK},
		{"192.0.2.7:4711", "localhost:8080", http.StatusForbidden},
		{"127.0.0.1:4711", "evil.example", http.StatusForbidden},
	} {
		r := httptest.NewRequest(http.MethodGet, "/debug/pprof/profile", http.NoBody)
		r.RemoteAddr, r.Host = c.remote, c.host
		rec := httptest.NewRecorder()
		if h.ServeHTTP(rec, r); rec.Code != c.status {
			t.Errorf("from %s, asking %s: status %d, want %d", c.remote, c.host, rec.Code, c.status)
		}
	}
}
