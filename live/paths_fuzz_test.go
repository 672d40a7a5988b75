package live_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

// Whatever is asked for, by path and by parameters, there is an answer that is meant, and
// none by a panic.
func FuzzQuestions(f *testing.F) {
	for _, path := range []string{
		"data/v1/overview", "data/v1/requests/0102030405060708090a0b0c0d0e0f10/0102030405060708", "data/v1/requests/x/y/svg",
		"data/v1/sessions/1", "data/v1/sessions/1/pprof", "data/v1/sessions/1/firefox", "data/v1/sessions/-1/json", "data/v1/sessions/18446744073709551616", "page/main.js", "page/..%2fx",
	} {
		f.Add("GET", path, "")
	}
	f.Add("HEAD", "data/v1/profile/flame", "session=1&trace=0102030405060708090a0b0c0d0e0f10&span=0102030405060708")
	f.Add("GET", "data/v1/profile/flame", "session=1&timeline=2&running")
	f.Add("GET", "data/v1/profile/flame", "session=1&route=9999999999")
	f.Add("GET", "data/v1/profile/flame", "session=%zz;&&")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		if path == "data/v1/stream" {
			return // ends with its client only
		}
		p := start(t, allowed, live.Config{})
		p.call("StartProfiler", `{"startMode":"START_MODE_IMMEDIATE"}`, nil)
		p.serve("GET /shelf/{id}", "/shelf/7", func(_ http.ResponseWriter, r *http.Request) { marks.Mark(r.Context(), "m") })
		p.call("StopProfiler", `{"sessionID":1}`, nil)
		r := ask(http.MethodGet, "", "")
		r.Method = method
		r.URL.RawQuery = query
		raw := live.Prefix + path
		if u, err := url.ParseRequestURI(raw); err == nil && u.RawQuery == "" {
			r.URL.Path, r.URL.RawPath = u.Path, u.RawPath
		} else {
			r.URL.Path = raw
		}
		r.RequestURI = raw + "?" + query
		rec := p.do(r)
		if !slices.Contains([]int{200, 304, 307, 400, 403, 404, 405, 409, 410}, rec.Code) {
			t.Errorf("%s %q?%q: status %d: %.200s", method, path, query, rec.Code, rec.Body)
		}
	})
}
