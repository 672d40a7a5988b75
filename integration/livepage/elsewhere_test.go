package livepage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// A page from elsewhere can neither do anything here, nor read anything, nor show this page
// as its own.
func TestPagesFromElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>elsewhere</title>`)
	}))
	defer elsewhere.Close()
	var server asked
	_, page := serve(t, bridgehttp.Server{}, http.NotFound, sessions.Config{Policy: profiling.Policy{Remote: true}}, server.around)
	const starting = "rpc/perfline.profiler.v1.ProfilerService/StartProfiler"
	service := page + starting
	before := sessionsShown(t, page)

	for name, origin := range map[string]string{
		"another site":             strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1),
		"another port of the same": elsewhere.URL,
	} {
		t.Run(name, func(t *testing.T) {
			server.take(t, 0)
			p, said := openElsewhere(t, origin)
			for request, js := range map[string]string{
				"a request without reading":   fmt.Sprintf(`fetch(%q, { method: "POST", mode: "no-cors", body: "{}" })`, service),
				"a request as the page does":  fmt.Sprintf(`fetch(%q, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" })`, service),
				"a beacon":                    fmt.Sprintf(`navigator.sendBeacon(%q, "{}")`, service),
				"reading the overview":        fmt.Sprintf(`fetch(%q).then((r) => r.text()).then(() => { read = true })`, page+"data/v1/overview"),
				"running the page's own code": fmt.Sprintf(`import(%q).then(() => { read = true })`, page+"page/format.js"),
			} {
				eval[bool](p, `(async () => { try { await `+js+` } catch {} return true })()`)
				if eval[bool](p, `"read" in window`) {
					t.Errorf("%s: it was answered", request)
				}
			}
			// A form leaves the page for the answer; a frame shows it, or not.
			eval[bool](p, fmt.Sprintf(`(() => {
				const frame = document.createElement("iframe");
				frame.src = %q;
				frame.onload = () => { loaded = true };
				document.body.append(frame);
				return true;
			})()`, page))
			p.wait(`"loaded" in window`)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := backend.Poll(ctx, func() (bool, error) { return strings.Contains(said(), "frame-ancestors"), nil }); err != nil {
				t.Errorf("the page can be framed: the browser says %q", said())
			}
			eval[bool](p, fmt.Sprintf(`(() => {
				const form = document.createElement("form");
				Object.assign(form, { method: "POST", action: %q, enctype: "text/plain" });
				document.body.append(form);
				form.submit();
				return true;
			})()`, service))
			p.wait(`location.href.includes("StartProfiler")`)
			if text := p.text("body"); !strings.Contains(text, "origin") {
				t.Errorf("a form is answered with %q, want why not", text)
			}
			const here = live.Prefix
			want := []string{ // in the order of the alphabet
				"GET " + here + " 403", // the frame
				"GET " + here + "data/v1/overview 403",
				"GET " + here + "page/format.js 403",
				"OPTIONS " + here + starting + " 403", // may the request as the page does come?
				"POST " + here + starting + " 403",    // without reading
				"POST " + here + starting + " 403",    // a beacon
				"POST " + here + starting + " 403",    // a form
			}
			if got := server.take(t, len(want)); !slices.Equal(got, want) {
				t.Errorf("asked and answered was\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
	if after := sessionsShown(t, page); after != before {
		t.Errorf("the sessions are\n%s\nand were\n%s", after, before)
	}
}

// openElsewhere opens a page that may do wrong. said is what the browser says of it.
func openElsewhere(t *testing.T, url string) (p tab, said func() string) {
	t.Helper()
	ctx, cancel, err := chrome.tab()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	p = tab{&Page{ctx: ctx, cancel: cancel}, t}
	var mu sync.Mutex
	var texts []string
	p.must(chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*log.EventEntryAdded); ok {
			mu.Lock()
			defer mu.Unlock()
			texts = append(texts, e.Entry.Text)
		}
	}))
	p.must(p.do(chromedp.Navigate(url)))
	return p, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(texts, "\n")
	}
}

// asked has the requests to a live page and their answers: "POST /path 403". The browser does not
// always report the answer to a beacon, or to a request of a page that was left.
type asked struct {
	mu  sync.Mutex // guards what follows
	all []string
}

func (a *asked) around(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(s, r)
		// Browsers ask for icons late: for the other site's, and for ours after sessionsShown
		// has closed the page.
		if !strings.HasPrefix(r.URL.Path, live.Prefix) || r.URL.Path == live.Prefix+"page/icon.svg" {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.all = append(a.all, fmt.Sprintf("%s %s %d", r.Method, r.URL.Path, s.status))
	})
}

// take takes what was asked since, sorted, once it is so much.
func (a *asked) take(t *testing.T, n int) (got []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := backend.Poll(ctx, func() (bool, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.all) >= n, nil
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	got, a.all = slices.Sorted(slices.Values(a.all)), nil
	if err != nil {
		t.Errorf("the server was asked %d times, want %d: %v", len(got), n, err)
	}
	return got
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(code int) {
	w.status = code
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// sessionsShown are the sessions, as a page is told of them.
func sessionsShown(t *testing.T, page string) string {
	t.Helper()
	p := open(t, page+"#/sessions", View{})
	p.wait(`document.querySelector("#start:enabled")?.checkVisibility()`)
	return p.text("main")
}
