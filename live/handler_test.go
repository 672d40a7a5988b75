package live_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/live"
)

const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Every answer, a refusal too, tells the browser what it must not do.
func TestHeaders(t *testing.T) {
	p := start(t, allowed, live.Config{})
	elsewhere := ask(http.MethodGet, "", "")
	elsewhere.RemoteAddr = "192.0.2.7:4711"
	for _, c := range []struct {
		name   string
		r      *http.Request
		status int
		cache  string
	}{
		{"page", ask(http.MethodGet, "", ""), http.StatusOK, "no-cache"},
		{"script", ask(http.MethodGet, "page/main.js", ""), http.StatusOK, "no-cache"},
		{"data", ask(http.MethodGet, "data/v1/overview", ""), http.StatusOK, "no-store"},
		{"no such request", ask(http.MethodGet, "data/v1/requests/a/b", ""), http.StatusNotFound, "no-store"},
		{"call", ask(http.MethodPost, "rpc/perfline.profiler.v1.ProfilerService/ListSessions", "{}"), http.StatusOK, "no-store"},
		{"call that fails", ask(http.MethodPost, "rpc/perfline.profiler.v1.ProfilerService/StopProfiler", `{"sessionID":7}`), http.StatusNotFound, "no-store"},
		{"nothing there", ask(http.MethodGet, "x", ""), http.StatusNotFound, "no-store"},
		{"wrong method", ask(http.MethodPost, "data/v1/overview", "{}"), http.StatusNotFound, "no-store"},
		{"not allowed in", elsewhere, http.StatusForbidden, "no-store"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := p.do(c.r)
			if rec.Code != c.status {
				t.Errorf("status %d, want %d: %s", rec.Code, c.status, rec.Body)
			}
			for name, want := range map[string]string{
				"Content-Security-Policy":      contentSecurityPolicy,
				"X-Content-Type-Options":       "nosniff",
				"Referrer-Policy":              "same-origin",
				"Cross-Origin-Resource-Policy": "same-origin",
				"Cross-Origin-Opener-Policy":   "same-origin",
				"Cache-Control":                c.cache,
			} {
				if got := rec.Header().Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

// The guard is in front of everything, and a page from elsewhere changes nothing.
func TestGuard(t *testing.T) {
	p := start(t, allowed, live.Config{})
	paths := []string{"", "page/main.js", "data/v1/overview", "data/v1/stream", "data/v1/profile/flame", "data/v1/sessions/1/json",
		"rpc/perfline.profiler.v1.ProfilerService/StartProfiler"}
	for _, path := range paths {
		r := ask(http.MethodGet, path, "")
		r.Host = "evil.example"
		if rec := p.do(r); rec.Code != http.StatusForbidden {
			t.Errorf("GET %s of another host: status %d", path, rec.Code)
		}
	}
	r := ask(http.MethodPost, "rpc/perfline.profiler.v1.ProfilerService/StartProfiler", `{"startMode":"START_MODE_IMMEDIATE","noSamples":true}`)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if rec := p.do(r); rec.Code != http.StatusForbidden {
		t.Errorf("a start by another site's page: status %d", rec.Code)
	}
	r = ask(http.MethodPost, "rpc/perfline.profiler.v1.ProfilerService/StartProfiler", `{"startMode":"START_MODE_IMMEDIATE","noSamples":true}`)
	r.Header.Set("Content-Type", "text/plain") // what a form of another site could send
	if rec := p.do(r); rec.Code < 400 {
		t.Errorf("a start as text: status %d", rec.Code)
	}
	if s := p.pl.Sessions().Counts(); s["started"] != 0 {
		t.Errorf("%d sessions were started", s["started"])
	}
}

func TestAuthorize(t *testing.T) {
	asked := 0
	p := start(t, allowed, live.Config{Data: guard.Everything, Authorize: func(r *http.Request) error {
		asked++
		if r.Header.Get("Authorization") != "me" {
			return errors.New("who?")
		}
		return nil
	}})
	r := ask(http.MethodGet, "data/v1/overview", "")
	r.RemoteAddr, r.Host = "192.0.2.7:4711", "shop.example"
	if rec := p.do(r); rec.Code != http.StatusForbidden || strings.Contains(rec.Body.String(), "who?") {
		t.Errorf("somebody: status %d, %s", rec.Code, rec.Body)
	}
	r.Header.Set("Authorization", "me")
	if rec := p.do(r); rec.Code != http.StatusOK {
		t.Errorf("who may: status %d", rec.Code)
	}
	r = ask(http.MethodPost, "rpc/perfline.profiler.v1.ProfilerService/ListSessions", "{}")
	r.RemoteAddr = "192.0.2.7:4711"
	r.Header.Set("Authorization", "me")
	asked = 0
	if rec := p.do(r); rec.Code != http.StatusOK || asked != 1 {
		t.Errorf("a call of who may: status %d %s, authorized %d times", rec.Code, rec.Body, asked)
	}
}

// An application can allow clients of other machines, and trust a proxy's origin.
func TestLocalOrByToken(t *testing.T) {
	p := start(t, allowed, live.Config{Data: guard.Everything, TrustedOrigins: []string{"https://shop.example"}, Authorize: func(r *http.Request) error {
		if r.Header.Get("Authorization") == "me" {
			return nil
		}
		return guard.Local(r)
	}})
	for _, c := range []struct {
		name, host, token, origin string
		status                    int
	}{
		{"local", "localhost", "", "", http.StatusOK},
		{"local by another name", "evil.example", "", "", http.StatusForbidden},
		{"by token", "10.0.0.7", "me", "", http.StatusOK},
		{"by token, as the page behind a proxy", "10.0.0.7", "me", "https://shop.example", http.StatusOK},
		{"by token, as another's page", "10.0.0.7", "me", "https://evil.example", http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []*http.Request{
				ask(http.MethodGet, "data/v1/overview", ""),
				ask(http.MethodPost, "rpc/perfline.profiler.v1.ProfilerService/ListSessions", "{}"),
			} {
				r.Host = c.host
				for name, value := range map[string]string{"Authorization": c.token, "Origin": c.origin} {
					if value != "" {
						r.Header.Set(name, value)
					}
				}
				if rec := p.do(r); rec.Code != c.status {
					t.Errorf("%s %s: status %d, want %d: %s", r.Method, r.URL.Path, rec.Code, c.status, rec.Body)
				}
			}
		})
	}
}

// No GET changes anything: neither of the page's paths nor of the service's procedures.
func TestGetChangesNothing(t *testing.T) {
	p := start(t, allowed, live.Config{})
	id := p.startSession(`{"startMode":"START_MODE_IMMEDIATE","noSamples":true}`)
	for _, procedure := range []string{"StartProfiler", "StopProfiler", "ReleaseSession", "GetEvents", "ListSessions"} {
		rec := p.do(ask(http.MethodGet, "rpc/perfline.profiler.v1.ProfilerService/"+procedure+`?encoding=json&connect=v1&message={"sessionID":1}`, ""))
		if rec.Code < 400 {
			t.Errorf("GET %s: status %d", procedure, rec.Code)
		}
	}
	before := p.overview().Sessions
	for _, path := range []string{"", "data/v1/overview", "data/v1/profile/flame?session=1", "data/v1/sessions/1/json"} {
		p.do(ask(http.MethodGet, path, ""))
	}
	after := p.overview().Sessions
	if len(after.Sessions) != 1 || after.Sessions[0] != before.Sessions[0] || after.Sessions[0].ID != id || after.Sessions[0].State != "recording" {
		t.Errorf("sessions were %+v, are %+v", before, after)
	}
}

func TestPrefix(t *testing.T) {
	p := start(t, perfline.Config{}, live.Config{Prefix: "/"})
	r := httptest.NewRequest(http.MethodGet, "/admin/live/data/v1/overview", nil)
	r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost"
	rec := httptest.NewRecorder()
	http.StripPrefix("/admin/live", p.page).ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		t.Errorf("beneath another prefix: status %d", rec.Code)
	}
	defer func() {
		if recover() == nil {
			t.Error("a prefix without its last slash does not panic")
		}
	}()
	live.Handler(p.pl, live.Config{Prefix: "/admin"})
}

// While the program is the same its page is not sent again.
func TestAssetsAreValidated(t *testing.T) {
	p := start(t, perfline.Config{}, live.Config{})
	first := p.do(ask(http.MethodGet, "page/style.css", ""))
	r := ask(http.MethodGet, "page/style.css", "")
	r.Header.Set("If-None-Match", first.Header().Get("Etag"))
	if rec := p.do(r); rec.Code != http.StatusNotModified || first.Header().Get("Etag") == "" {
		t.Errorf("status %d for %q", rec.Code, first.Header().Get("Etag"))
	}
}

// The page follows its policy: it has no inline script or style, loads nothing from other
// hosts, and makes no markup of data. All files that it names exist.
func TestPageKeepsItsPolicy(t *testing.T) {
	p := start(t, perfline.Config{}, live.Config{})
	forbidden := regexp.MustCompile(`(?i)innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setAttribute\('style|style=|<style|https?://|<script>|\bon\w+="`)
	named := regexp.MustCompile(`(?:from '\./|(?:src|href)="page/)([\w.]+)`)
	err := fs.WalkDir(os.DirFS("page"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile("page/" + name)
		if err != nil {
			return err
		}
		const svg = `'http://www.w3.org/2000/svg'` // a name, which nothing loads
		for _, found := range forbidden.FindAllString(strings.ReplaceAll(string(text), svg, ""), -1) {
			if !strings.HasSuffix(name, ".svg") {
				t.Errorf("%s has %q", name, found)
			}
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			if rec := p.do(ask(http.MethodGet, "page/"+m[1], "")); rec.Code != http.StatusOK {
				t.Errorf("%s names %s: status %d", name, m[1], rec.Code)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSessionsNotAllowed(t *testing.T) {
	t.Setenv("PERFLINE_PROFILING", "")
	p := start(t, perfline.Config{}, live.Config{})
	o := p.overview()
	if !strings.Contains(o.Sessions.Refused, "PERFLINE_PROFILING=remote") {
		t.Errorf("sessions say %q, not how to allow them", o.Sessions.Refused)
	}
	for _, path := range []string{"data/v1/sessions/1/json", "data/v1/profile/flame?session=1"} {
		var f failure
		p.get(path, http.StatusForbidden, &f)
		if !strings.Contains(f.Error, "PERFLINE_PROFILING=remote") {
			t.Errorf("%s says %q", path, f.Error)
		}
	}
	rec := p.do(ask(http.MethodPost, "rpc/perfline.profiler.v1.ProfilerService/ListSessions", "{}"))
	var denied struct{ Code string }
	if err := json.Unmarshal(rec.Body.Bytes(), &denied); err != nil || rec.Code != http.StatusForbidden || denied.Code != "permission_denied" {
		t.Errorf("a call answers %d %s", rec.Code, rec.Body)
	}
}
