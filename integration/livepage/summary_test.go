package livepage

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/profiling/sessions"
)

// summary opens the page of a program that serves a summary and has had a request.
func summary(t *testing.T, v View) tab {
	t.Helper()
	base, page := servePage(t, bridgehttp.Server{}, func(http.ResponseWriter, *http.Request) {}, sessions.Config{}, live.Config{Data: guard.Summary})
	request(t, base+"/items")
	p := open(t, page, v)
	p.wait(`document.querySelector("#stream-state").textContent === "live" && document.querySelector("#routes tbody tr")`)
	return p
}

// The page of a summary links only to data of a summary, and gives the reason in a line.
func TestSummaryPage(t *testing.T) {
	p := summary(t, View{})
	if got := eval[[]string](p, `[...document.querySelectorAll("nav a")].filter((a) => a.checkVisibility()).map((a) => a.dataset.page)`); strings.Join(got, " ") != "requests runtime counters" {
		t.Errorf("links lead to %q", got)
	}
	if text := p.text("#data-note"); !strings.Contains(text, "live.Config.Data") {
		t.Errorf("the reason is %q", text)
	}
	if seen := eval[[]string](p, `[...document.querySelectorAll("#filter, #live, #matches, #recent, #slowest, #kept, [id$=-list], main a[href^='#/sessions'], main a[href^='#/profile']")].filter((n) => n.checkVisibility()).map((n) => n.outerHTML.slice(0, 100))`); len(seen) > 0 {
		t.Errorf("the summary shows %q", seen)
	}
	p.wait(`document.querySelector("#heat [data-level='1']")`)                        // comes after the routes
	eval[bool](p, `(document.querySelector("#heat [data-level='1']").click(), true)`) // of a map that lists no requests
	if hash := eval[string](p, `location.hash`); hash != "" {
		t.Errorf("a click on a cell leads to %s", hash)
	}
	p.show("#/runtime")
	p.wait(`document.querySelector("[data-chart=heap]")?.checkVisibility()`)
	p.show("#/counters")
	p.wait(`document.querySelector(".counters table")`)
	full := openRecorded(t, "", View{})
	full.wait(`document.querySelector("#stream-state").textContent === "live" && document.querySelector("#recent tbody tr")`)
	if n := eval[int](full, `[...document.querySelectorAll("#data-note")].filter((n) => n.checkVisibility()).length`); n > 0 {
		t.Error("a page with everything has a line about a summary")
	}
}
