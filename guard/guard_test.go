package guard_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/guard"
)

// ask says what status and text a request gets; "in" is the guarded handler's.
func ask(g guard.Guard, r *http.Request) (int, string) {
	if g.Logger == nil {
		g.Logger = slog.New(slog.DiscardHandler)
	}
	rec := httptest.NewRecorder()
	g.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "in")
	})).ServeHTTP(rec, r)
	return rec.Code, strings.TrimSpace(rec.Body.String())
}

func TestWithoutAuthorizeOnlyThisMachine(t *testing.T) {
	for _, c := range []struct {
		name, remote, host string
		header             string // of a proxy
		refused            string // part of the text; empty if let in
	}{
		{name: "IPv4", remote: "127.0.0.1:4711", host: "127.0.0.1:8080"},
		{name: "all of 127/8", remote: "127.1.2.3:4711", host: "127.0.0.2"},
		{name: "IPv6", remote: "[::1]:4711", host: "[::1]:8080"},
		{name: "IPv6 without a port", remote: "[::1]:4711", host: "[::1]"},
		{name: "IPv4 on a socket of IPv6", remote: "[::ffff:127.0.0.1]:4711", host: "localhost:8080"},
		{name: "by name", remote: "127.0.0.1:4711", host: "LocalHost"},

		{name: "the network", remote: "192.0.2.7:4711", host: "localhost", refused: "from 192.0.2.7:4711: only clients on the same machine"},
		{name: "the network by IPv6", remote: "[2001:db8::7]:4711", host: "localhost", refused: "same machine"},
		{name: "a Unix socket", remote: "@", host: "localhost", refused: `from "@": not an address, as of a Unix socket: only clients on the same machine may come here. To allow others (a browser outside the container, another machine), the program sets Authorize`},
		{name: "no address", remote: "", host: "localhost", refused: "sets Authorize"},

		{name: "rebound name", remote: "127.0.0.1:4711", host: "evil.example:8080", refused: `host "evil.example:8080": must be localhost`},
		{name: "rebound name that looks like it", remote: "127.0.0.1:4711", host: "localhost.evil.example", refused: "must be localhost"},
		{name: "address of the network", remote: "127.0.0.1:4711", host: "192.0.2.1:8080", refused: "must be localhost"},
		{name: "no host", remote: "127.0.0.1:4711", host: "", refused: "must be localhost"},

		{name: "behind a proxy", remote: "127.0.0.1:4711", host: "localhost", header: "X-Forwarded-For", refused: "header X-Forwarded-For: only direct"},
		{name: "behind a proxy of RFC 7239", remote: "127.0.0.1:4711", host: "localhost", header: "Forwarded", refused: "only direct"},
		{name: "behind a proxy that names itself", remote: "127.0.0.1:4711", host: "localhost", header: "Via", refused: "only direct"},
		{name: "behind a proxy that passes the host", remote: "127.0.0.1:4711", host: "localhost", header: "X-Forwarded-Host", refused: "only direct"},
		{name: "behind nginx as often configured", remote: "127.0.0.1:4711", host: "localhost", header: "X-Real-IP", refused: "only direct"},
		{name: "behind a proxy that tells the scheme only", remote: "127.0.0.1:4711", host: "localhost", header: "X-Forwarded-Proto", refused: "only direct"},
		{name: "behind a proxy with a header of its own", remote: "127.0.0.1:4711", host: "localhost", header: "X-Forwarded", refused: "only direct"},
		{name: "behind Envoy", remote: "127.0.0.1:4711", host: "localhost", header: "X-Envoy-External-Address", refused: "header X-Envoy-External-Address: only direct"},
		{name: "behind Akamai", remote: "127.0.0.1:4711", host: "localhost", header: "True-Client-IP", refused: "only direct"},
		{name: "behind Cloudflare", remote: "127.0.0.1:4711", host: "localhost", header: "CF-Connecting-IP", refused: "only direct"},
		{name: "behind others", remote: "127.0.0.1:4711", host: "localhost", header: "X-Client-IP", refused: "only direct"},
		{name: "behind one that passes the host in its own way", remote: "127.0.0.1:4711", host: "localhost", header: "X-Original-Host", refused: "only direct"},
		{name: "a header of the client's own", remote: "127.0.0.1:4711", host: "localhost", header: "X-Forward-Thinking"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", http.NoBody)
			r.RemoteAddr, r.Host = c.remote, c.host
			if c.header != "" {
				r.Header.Set(c.header, "") // an empty value is enough
			}
			status, text := ask(guard.Guard{}, r)
			switch {
			case c.refused == "" && (status != 200 || text != "in"):
				t.Errorf("got %d %q, want it let in", status, text)
			case c.refused != "" && (status != 403 || !strings.Contains(text, c.refused)):
				t.Errorf("got %d %q, want 403 with %q", status, text, c.refused)
			}
		})
	}
}

func TestAuthorizeDecidesAlone(t *testing.T) {
	var log strings.Builder
	g := guard.Guard{
		Authorize: func(r *http.Request) error {
			if r.Header.Get("Authorization") != "Bearer t" {
				return errors.New("token \"x\" is not in the list")
			}
			return nil
		},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}

	r := httptest.NewRequest("GET", "/debug/", http.NoBody)
	r.RemoteAddr, r.Host = "192.0.2.7:4711", "shop.example"
	r.Header.Set("X-Forwarded-For", "192.0.2.8")
	r.Header.Set("Authorization", "Bearer t")
	if status, text := ask(g, r); status != 200 || text != "in" {
		t.Errorf("authorized, from afar and through a proxy: got %d %q, want it let in", status, text)
	}
	if log.Len() > 0 {
		t.Errorf("logged though nothing was refused: %s", &log)
	}

	r = httptest.NewRequest("GET", "/debug/", http.NoBody)
	r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost"
	if status, text := ask(g, r); status != 403 || text != "not authorized" {
		t.Errorf("on this machine, but not authorized: got %d %q, want 403 and nothing of why", status, text)
	}
	for _, want := range []string{"is not in the list", "/debug/", "127.0.0.1:4711"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q: %s", want, &log)
		}
	}
}

func TestRefuseAnswersInstead(t *testing.T) {
	g := guard.Guard{Refuse: func(w http.ResponseWriter, r *http.Request, err error) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.Host+": "+err.Error())
	}}
	r := httptest.NewRequest("GET", "http://evil.example/", http.NoBody)
	r.RemoteAddr = "127.0.0.1:4711"
	if status, text := ask(g, r); status != http.StatusTeapot || !strings.HasPrefix(text, `evil.example: host "evil.example": must be`) {
		t.Errorf("got %d %q, want what Refuse answers, and no more", status, text)
	}
	r.Host = "localhost"
	if status, text := ask(g, r); status != 200 || text != "in" {
		t.Errorf("got %d %q, want it let in", status, text)
	}
}

func TestNoPageFromElsewhereComesIn(t *testing.T) {
	const here, elsewhere, trusted = "http://localhost:8080", "https://evil.example", "https://tools.example"
	for _, c := range []struct {
		name, method, site, origin, mode, dest string
		in                                     bool
	}{
		{"no browser", "POST", "", "", "", "", true},
		{"our page", "POST", "same-origin", here, "", "", true},
		{"our page in an old browser", "POST", "", here, "", "", true},
		{"typed by the user", "POST", "none", "", "", "", true},
		{"elsewhere", "POST", "cross-site", elsewhere, "", "", false},
		{"elsewhere by Sec-Fetch-Site alone", "POST", "cross-site", "", "", "", false},
		{"elsewhere by Origin alone", "POST", "", elsewhere, "", "", false},
		{"a sandboxed page", "POST", "", "null", "", "", false},
		{"another port of this machine", "POST", "same-site", "http://localhost:3000", "", "", false},
		{"another port, by Origin alone", "DELETE", "", "http://localhost:3000", "", "", false},
		{"our page reads", "GET", "same-origin", "", "cors", "empty", true},
		{"no browser reads", "GET", "", "", "", "", true},
		{"elsewhere reads", "GET", "cross-site", elsewhere, "cors", "empty", false},
		{"elsewhere reads without an origin", "GET", "cross-site", "", "no-cors", "image", false},
		{"elsewhere by Origin alone reads", "GET", "", elsewhere, "", "", false},
		{"another port of this machine reads", "GET", "same-site", "", "no-cors", "script", false},
		{"elsewhere asks for the head", "HEAD", "cross-site", "", "no-cors", "empty", false},
		{"elsewhere asks what it may", "OPTIONS", "cross-site", elsewhere, "cors", "empty", false},
		{"a link from elsewhere", "GET", "cross-site", "", "navigate", "document", true},
		{"a link from another port", "HEAD", "same-site", "", "navigate", "document", true},
		{"a frame elsewhere", "GET", "cross-site", "", "navigate", "iframe", false},
		{"a form elsewhere", "POST", "cross-site", elsewhere, "navigate", "document", false},
		{"a trusted page", "POST", "cross-site", trusted, "cors", "empty", true},
		{"a trusted page reads", "GET", "cross-site", trusted, "cors", "empty", true},
		{"a trusted page in an old browser", "GET", "", trusted, "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, g := range map[string]guard.Guard{
				"the zero guard":     {TrustedOrigins: []string{trusted}},
				"with Authorize too": {TrustedOrigins: []string{trusted}, Authorize: func(*http.Request) error { return nil }},
			} {
				r := httptest.NewRequest(c.method, here+"/x", http.NoBody)
				r.RemoteAddr = "127.0.0.1:4711"
				for header, value := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest} {
					if value != "" {
						r.Header.Set(header, value)
					}
				}
				status, text := ask(g, r)
				if got := status == 200; got != c.in || (!got && status != 403) {
					t.Errorf("%s: got %d %q, want it let in: %v", name, status, text, c.in)
				}
			}
		})
	}
}

// The refusal of our own page says how to allow it.
func TestRefusalSaysWhatToDo(t *testing.T) {
	r := httptest.NewRequest("POST", "http://10.0.0.7:8080/x", http.NoBody)
	r.Header.Set("Origin", "https://shop.example")
	status, text := ask(guard.Guard{Authorize: func(*http.Request) error { return nil }}, r)
	want := `origin "https://shop.example", Sec-Fetch-Site "", host "10.0.0.7:8080": pages of other origins may not come here; ` +
		"if this is the page itself behind a proxy, have the proxy pass the Host header on, or set TrustedOrigins"
	if status != 403 || text != want {
		t.Errorf("got %d %q, want 403 %q", status, text, want)
	}
}

func TestTrustedOriginsThatAreNone(t *testing.T) {
	for _, origin := range []string{"tools.example", "https://tools.example/page", ""} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "TrustedOrigins") || !strings.Contains(got, "https://tools.example") {
					t.Errorf("%q: panic %q, want one that says what it must be", origin, got)
				}
			}()
			guard.Guard{TrustedOrigins: []string{origin}}.Handler(http.NotFoundHandler())
		}()
	}
}

// A refused client may try again and again: the log has a line a minute, with the number of refusals.
func TestRefusalsAreLoggedOnceAMinute(t *testing.T) {
	for name, authorize := range map[string]func(*http.Request) error{
		"the zero guard": nil,
		"with Authorize": func(*http.Request) error { return errors.New("why") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				h := guard.Guard{Authorize: authorize, Logger: slog.New(slog.NewTextHandler(&log, nil))}.Handler(http.NotFoundHandler())
				lines := func(n int) string {
					log.Reset()
					for range n {
						h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/x", http.NoBody))
					}
					return log.String()
				}
				if got := lines(5); strings.Count(got, "\n") != 1 || !strings.Contains(got, "unlogged_before=0") || !strings.Contains(got, "path=/x") {
					t.Errorf("five refusals are logged as %q, want one line", got)
				}
				time.Sleep(time.Minute - time.Second)
				if got := lines(1); got != "" {
					t.Errorf("before a minute is over: %q", got)
				}
				time.Sleep(time.Second)
				if got := lines(2); strings.Count(got, "\n") != 1 || !strings.Contains(got, "unlogged_before=5") {
					t.Errorf("after a minute: %q, want one line that tells of 5 others", got)
				}
			})
		})
	}
}

// Texts of the client are cut in the log.
func TestRefusalsOfAnyLengthAreLoggedShort(t *testing.T) {
	var log strings.Builder
	long := strings.Repeat("x", 1<<20)
	r := httptest.NewRequest("GET", "/"+long, http.NoBody)
	r.RemoteAddr, r.Host = "127.0.0.1:4711", long
	r.Header.Set("Origin", "https://"+long)
	for _, authorize := range []func(*http.Request) error{nil, func(*http.Request) error { return nil }} {
		ask(guard.Guard{Authorize: authorize, Logger: slog.New(slog.NewTextHandler(&log, nil))}, r)
	}
	if n := log.Len(); n == 0 || n > 10<<10 {
		t.Errorf("two refusals are logged with %d bytes, want some, and 10 KiB at most", n)
	}
}

// Each guard decides for itself, whatever another one has said: a handler that brings a guard along may be mounted behind one of the program's.
func TestGuardWithinAGuard(t *testing.T) {
	anyone := func(*http.Request) error { return nil }
	nobody := func(*http.Request) error { return errors.New("closed") }
	const here, elsewhere = "127.0.0.1:4711", "192.0.2.1:4711"
	for _, c := range []struct {
		name         string
		outer, inner guard.Guard
		remote       string
		origin       string
		allowed      bool
	}{
		{"both allow", guard.Guard{}, guard.Guard{}, here, "", true},
		{"the inner one refuses", guard.Guard{Authorize: anyone}, guard.Guard{Authorize: nobody}, here, "", false},
		{"the outer one refuses", guard.Guard{Authorize: nobody}, guard.Guard{Authorize: anyone}, here, "", false},
		{"the inner one allows this machine only", guard.Guard{Authorize: anyone}, guard.Guard{}, elsewhere, "", false},
		{"the inner one knows a token", guard.Guard{Authorize: anyone}, guard.Guard{Authorize: guard.Token("t")}, here, "", false},
		{"a page that only the outer one trusts", guard.Guard{TrustedOrigins: []string{"https://a.example"}}, guard.Guard{}, here, "https://a.example", false},
		{"a page that both trust", guard.Guard{TrustedOrigins: []string{"https://a.example"}}, guard.Guard{TrustedOrigins: []string{"https://a.example"}}, here, "https://a.example", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := false
			h := c.outer.Handler(c.inner.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { in = true })))
			r := httptest.NewRequest("POST", "http://localhost/", http.NoBody)
			r.RemoteAddr = c.remote
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			res := httptest.NewRecorder()
			if h.ServeHTTP(res, r); in != c.allowed || !in && res.Code < 400 {
				t.Errorf("served: %v with status %d, want %v", in, res.Code, c.allowed)
			}
		})
	}
}

// The address of a real connection is what the guard has to understand.
func TestRealConnections(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Skipf("this machine has no %s: %v", address, err)
			}
			srv := httptest.NewUnstartedServer(guard.Guard{}.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
			srv.Listener.Close()
			srv.Listener = l
			srv.Start()
			defer srv.Close()
			res, err := srv.Client().Get(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != 200 {
				t.Errorf("got %s, want it let in", res.Status)
			}
		})
	}
}

// A function of the program that panics lets nobody in. net/http answers that for the one request, and the guard goes on.
func TestFunctionsThatPanic(t *testing.T) {
	failing := true
	fail := func() {
		if failing {
			panic("user code")
		}
	}
	for name, g := range map[string]guard.Guard{
		"Authorize": {Authorize: func(*http.Request) error { fail(); return nil }},
		"Refuse": {
			Authorize: func(*http.Request) error {
				if failing {
					return errors.New("closed")
				}
				return nil
			},
			Refuse: func(http.ResponseWriter, *http.Request, error) { fail() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := 0
			g.Logger = slog.New(slog.DiscardHandler)
			h := g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { in++ }))
			ask := func() (panicked any) {
				defer func() { panicked = recover() }()
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost/", http.NoBody))
				return nil
			}
			failing = true
			if panicked := ask(); panicked != "user code" || in > 0 {
				t.Errorf("with the panic %v, %d requests came in", panicked, in)
			}
			failing = false
			if panicked := ask(); panicked != nil || in != 1 {
				t.Errorf("afterwards, with the panic %v, %d requests came in", panicked, in)
			}
		})
	}
}
