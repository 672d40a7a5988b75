package guard_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perfline/perfline/guard"
)

func TestToken(t *testing.T) {
	for _, c := range []struct {
		name, token string
		set         func(*http.Request)
		want        int
	}{
		{"nothing", "secret", func(*http.Request) {}, http.StatusUnauthorized},
		{"bearer", "secret", func(r *http.Request) { r.Header.Set("Authorization", "Bearer secret") }, http.StatusOK},
		{"bearer in lower case", "secret", func(r *http.Request) { r.Header.Set("Authorization", "bearer secret") }, http.StatusOK},
		{"wrong bearer", "secret", func(r *http.Request) { r.Header.Set("Authorization", "Bearer Secret") }, http.StatusUnauthorized},
		{"the beginning", "secret", func(r *http.Request) { r.Header.Set("Authorization", "Bearer secre") }, http.StatusUnauthorized},
		{"password", "secret", func(r *http.Request) { r.SetBasicAuth("anyone", "secret") }, http.StatusOK},
		{"wrong password", "secret", func(r *http.Request) { r.SetBasicAuth("secret", "") }, http.StatusUnauthorized},
		{"another scheme", "secret", func(r *http.Request) { r.Header.Set("Authorization", "secret") }, http.StatusUnauthorized},
		{"empty token", "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, http.StatusForbidden},
		{"a page of another origin with the password", "secret", func(r *http.Request) {
			r.SetBasicAuth("anyone", "secret")
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}, http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "http://10.0.0.7:8080/", http.NoBody)
			c.set(r)
			rec := httptest.NewRecorder()
			g := guard.Guard{Authorize: guard.Token(c.token)}
			g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(rec, r)
			if rec.Code != c.want {
				t.Errorf("status %d, want %d", rec.Code, c.want)
			}
			if asks := rec.Header().Get("WWW-Authenticate") != ""; asks != (c.want == http.StatusUnauthorized) {
				t.Errorf("WWW-Authenticate is %q", rec.Header().Get("WWW-Authenticate"))
			}
		})
	}
}
