package livepage

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// A page from elsewhere can neither do anything here, nor read anything, nor show this page
// as its own.
func TestPagesFromElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>elsewhere</title>`)
	}))
	defer elsewhere.Close()
	service := shop.Page + "rpc/perfline.profiler.v1.ProfilerService/StartProfiler"
	before := shopSessions(t)

	for name, origin := range map[string]string{
		"another site":             strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1),
		"another port of the same": elsewhere.URL,
	} {
		t.Run(name, func(t *testing.T) {
			p, answers := openElsewhere(t, origin)
			for request, js := range map[string]string{
				"a request without reading":   fmt.Sprintf(`fetch(%q, { method: "POST", mode: "no-cors", body: "{}" })`, service),
				"a request as the page does":  fmt.Sprintf(`fetch(%q, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" })`, service),
				"a beacon":                    fmt.Sprintf(`navigator.sendBeacon(%q, "{}")`, service),
				"reading the overview":        fmt.Sprintf(`fetch(%q).then((r) => r.text()).then(() => { read = true })`, shop.Page+"data/overview"),
				"running the page's own code": fmt.Sprintf(`import(%q).then(() => { read = true })`, shop.Page+"page/format.js"),
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
			})()`, shop.Page))
			p.wait(`"loaded" in window`)
			if said := answers.console(); !strings.Contains(said, "frame-ancestors") {
				t.Errorf("the page can be framed: the browser says %q", said)
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
			// Of a beacon, and of what a page has asked for that was left, the browser does not always tell
			// the answer: that none of it did anything is what the sessions below are for.
			got := answers.to("POST", service)
			if len(got) == 0 || slices.ContainsFunc(got, func(status int64) bool { return status != http.StatusForbidden }) {
				t.Errorf("the service answers %v, want 403", got)
			}
		})
	}
	if after := shopSessions(t); after != before {
		t.Errorf("the shop's sessions are\n%s\nand were\n%s", after, before)
	}
}

// answers are what a tab asked for, and how it was answered.
type answers struct {
	mu       sync.Mutex // guards what follows
	requests map[network.RequestID]*network.Request
	statuses []struct {
		request *network.Request
		status  int64
	}
	said []string
}

// openElsewhere opens a page that may do wrong.
func openElsewhere(t *testing.T, url string) (tab, *answers) {
	t.Helper()
	ctx, cancel, err := chrome.tab()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	p := tab{&Page{ctx: ctx, cancel: cancel}, t}
	a := &answers{requests: map[network.RequestID]*network.Request{}}
	p.must(chromedp.Listen(ctx, a.see))
	p.must(p.do(chromedp.Navigate(url)))
	return p, a
}

func (a *answers) see(event any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		a.requests[e.RequestID] = e.Request
	case *network.EventResponseReceivedExtraInfo: // which is there for those that the page may not read, too
		if r := a.requests[e.RequestID]; r != nil {
			a.statuses = append(a.statuses, struct {
				request *network.Request
				status  int64
			}{r, e.StatusCode})
		}
	case *log.EventEntryAdded:
		a.said = append(a.said, e.Entry.Text)
	}
}

// to are the statuses of requests.
func (a *answers) to(method, url string) (statuses []int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.statuses {
		if s.request.Method == method && s.request.URL == url {
			statuses = append(statuses, s.status)
		}
	}
	return statuses
}

// console is what the browser says of the page.
func (a *answers) console() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.said, "\n")
}

// shopSessions are the shop's sessions, as the page is told of them.
func shopSessions(t *testing.T) string {
	t.Helper()
	p := open(t, shop.Page+"#/sessions", View{})
	p.wait(`document.querySelector("#start:enabled")?.checkVisibility()`)
	return p.text("main")
}
