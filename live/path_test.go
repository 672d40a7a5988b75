package live_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/live"
)

// The page is at its prefix, and no redirect leads out of that, whatever is before it.
func TestPaths(t *testing.T) {
	under := func(prefix, outer string) http.Handler {
		p := start(t, perfline.Config{}, live.Config{Prefix: prefix})
		return http.StripPrefix(outer, p.page)
	}
	own, stripped, nested := under("", ""), under("/", "/admin/live"), under("/live/", "/admin")
	for _, c := range []struct {
		name   string
		page   http.Handler
		target string
		status int
		leads  string // where a redirect does
	}{
		{"the page", own, "/debug/perfline/", 200, ""},
		{"data", own, "/debug/perfline/data/v1/overview", 200, ""},
		{"without its slash", own, "/debug/perfline?a=b", 307, "/debug/perfline/?a=b"},
		{"a path that begins as the prefix", own, "/debug/perflinedata/v1/overview", 404, ""},
		{"a path that begins as the prefix, escaped", own, "/debug/perfline%2Fdata/v1/overview", 404, ""},
		{"another path", own, "/data/v1/overview", 404, ""},
		{"the root", own, "/", 404, ""},
		{"two slashes", own, "/debug/perfline//data/v1/overview", 404, ""},
		{"two slashes to elsewhere", own, "/debug/perfline//evil.example/", 404, ""},
		{"a dot", own, "/debug/perfline/./data/v1/overview", 404, ""},
		{"out of it", own, "/debug/perfline/../data/v1/overview", 404, ""},
		{"a folder of the page", own, "/debug/perfline/page", 404, ""},
		{"the service", own, "/debug/perfline/rpc/perfline.profiler.v1.ProfilerService", 404, ""},
		{"a slash too many", own, "/debug/perfline/data/v1/overview/", 404, ""},

		{"stripped: the page", stripped, "/admin/live/", 200, ""},
		{"stripped: data", stripped, "/admin/live/data/v1/overview", 200, ""},
		{"stripped: without its slash", stripped, "/admin/live", 307, "/admin/live/"},
		{"stripped: two slashes", stripped, "/admin/live//data/v1/overview", 404, ""},
		{"nested: data", nested, "/admin/live/data/v1/overview", 200, ""},
		{"nested: without its slash", nested, "/admin/live", 307, "/admin/live/"},
		{"nested: a path that begins so", nested, "/admin/lively/", 404, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				r := httptest.NewRequest(method, c.target, http.NoBody)
				r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost"
				rec := httptest.NewRecorder()
				c.page.ServeHTTP(rec, r)
				want := c.status
				if method == http.MethodPost && want == 200 {
					want = 404
				}
				if rec.Code != want {
					t.Errorf("%s: status %d, want %d, to %q", method, rec.Code, want, rec.Header().Get("Location"))
				}
				base := &url.URL{Path: r.URL.Path}
				to, err := base.Parse(rec.Header().Get("Location"))
				if err != nil || c.leads != "" && to.String() != c.leads {
					t.Errorf("%s: leads to %v (%v), want %s", method, to, err, c.leads)
				}
			}
		})
	}
}

// Next gets every path that is not the page's, as it was asked for, and nothing that is for the page. The page's guard and the
// page's headers are not Next's.
func TestNext(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, r.URL.EscapedPath(), http.StatusTeapot) })
	refuse := func(*http.Request) error { return errors.New("refused") }
	at := func(prefix string, authorize func(*http.Request) error) http.Handler {
		return start(t, perfline.Config{}, live.Config{Prefix: prefix, Authorize: authorize, Next: next}).page
	}
	own, guarded, elsewhere := at("", nil), at("", refuse), at("/admin/live/", nil)
	for _, c := range []struct {
		name   string
		root   http.Handler
		target string
		status int // 418 of next
	}{
		{"the page", own, "/debug/perfline/", 200},
		{"data", own, "/debug/perfline/data/v1/overview", 200},
		{"without its slash", own, "/debug/perfline", 307},
		{"nothing of the page", own, "/debug/perfline/nothing", 404},
		{"out of the page", own, "/debug/perfline/../orders", 404},
		{"the root", own, "/", 418},
		{"a path", own, "/orders/7", 418},
		{"a path that begins as the prefix", own, "/debug/perflines/", 418},
		{"a longer path", own, "/a/debug/perfline/", 418},
		{"a path to clean", own, "/a/../debug/perfline/", 418},
		{"no path", own, "*", 418},
		{"a guarded page", guarded, "/debug/perfline/", 403},
		{"beside a guarded page", guarded, "/orders/7", 418},
		{"a page elsewhere", elsewhere, "/admin/live/", 200},
		{"the usual prefix", elsewhere, "/debug/perfline/", 418},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.URL = &url.URL{Path: c.target}
			r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost"
			rec := httptest.NewRecorder()
			c.root.ServeHTTP(rec, r)
			if rec.Code != c.status {
				t.Errorf("status %d, want %d", rec.Code, c.status)
			}
			if policy := rec.Header().Get("Content-Security-Policy"); (policy == "") != (c.status == http.StatusTeapot) {
				t.Errorf("the Content-Security-Policy is %q", policy)
			}
			if got := strings.TrimSpace(rec.Body.String()); c.status == http.StatusTeapot && got != c.target {
				t.Errorf("Next got %s, want %s", got, c.target)
			}
		})
	}
	defer func() {
		if p := recover(); p == nil {
			t.Error("a page at / leaves nothing to Next, and Handler does not panic")
		}
	}()
	at("/", nil)
}
