package livepage

import (
	"fmt"
	"testing"
)

// A view of the page is at an address, and ready when an expression is true. Then it is prepared.
type view struct {
	name, hash, ready string
	then              func(p tab)
	open              func(t *testing.T, v View) tab // of a view that has a page of its own
}

// views are all views of the page, in an order in which one can be shown after the other.
func views() []view {
	s := fmt.Sprint(recorded.session)
	return []view{
		{name: "overview", hash: "#/", ready: `document.querySelectorAll("#slowest tbody tr").length > 2`},
		{name: "request", hash: "#/", ready: `document.querySelector("#slowest tbody tr")`, then: func(p tab) {
			p.click("#slowest tbody a")
			p.wait(`document.querySelector("#waterfall") && document.querySelector("#ran p, #ran .flames")`)
		}},
		{name: "comparison", hash: comparedAddress(), ready: comparisonShown, then: func(p tab) { p.click("#choices summary") }},
		{name: "request with samples", hash: recorded.request, ready: `document.querySelector("#waterfall") && document.querySelector("#ran .flames")`},
		{name: "request with waits", open: func(t *testing.T, v View) tab {
			t.Helper()
			return openBusyIn(t, "", v)
		}},
		{name: "profiles", hash: "#/profile", ready: `document.querySelector("#profiles li a[href*='session=']")`},
		{name: "flame graph", hash: "#/profile?session=" + s, ready: `document.querySelector("#flame [role=treeitem]")`},
		{name: "top table", hash: "#/profile?tab=top&session=" + s, ready: `document.querySelector("#top tbody tr")`},
		{
			name: "sandwich", hash: "#/profile?tab=sandwich&function=main.addParts&session=" + s,
			ready: `document.querySelector("#callers [role=treeitem]") && document.querySelector("#callees [role=treeitem]")`,
		},
		{
			name: "difference", hash: "#/profile?tab=difference&with=session%3D" + s + "%26route%3D" + fmt.Sprint(recorded.route) + "&session=" + s,
			ready: `document.querySelector("#flame [role=treeitem]") && document.querySelector("#changes tbody tr") &&
				document.querySelector("#difference-with optgroup[label^='Session ` + s + `,']")`,
		},
		{name: "sessions", hash: "#/sessions", ready: `document.querySelector("#sessions tbody tr") && document.querySelector("#start:enabled")`},
		{name: "release", hash: "#/sessions", ready: `document.querySelector("#sessions tbody tr")`, then: func(p tab) {
			p.click("#sessions [data-act=release]")
			p.wait(`document.querySelector("dialog[open]")`)
		}},
		{name: "session", hash: "#/sessions/" + s, ready: `document.querySelector("#timelines tbody tr")`, then: func(p tab) {
			p.click("#timelines tr[data-timeline] .twist")
			p.wait(`document.querySelector("#timelines .inside [data-event], #timelines .inside .muted")`)
		}},
		{name: "waits", hash: "#/waits", ready: `document.querySelector("#arm")?.checkVisibility()`},
		{name: "runtime", hash: "#/runtime", ready: `document.querySelectorAll(".chart:not([hidden])").length >= 10`, then: func(p tab) {
			p.click("[data-chart=heap] summary")
			p.wait(`document.querySelector("[data-chart=heap] tbody tr")`)
		}},
		{name: "summary", open: summary, then: func(p tab) {
			p.wait(`document.querySelector("#heat [data-level='1']")`) // comes after the routes
			p.click("#pause")                                          // a live page draws its rows anew
		}},
		{name: "deaths", hash: "#/deaths", ready: `document.querySelector("#deaths .words") && document.querySelector("#deaths .open a")`},
		{name: "request of a dead process", hash: "#/deaths", ready: `document.querySelector("#deaths .open a")`, then: func(p tab) {
			p.click("#deaths .open a")
			p.wait(`document.querySelector("#waterfall") && document.querySelector("#no-waits")?.innerText.includes("earlier process")`)
		}},
		{name: "counters", hash: "#/counters", ready: `document.querySelector(".counters table")`},
		{name: "no such page", hash: "#/nothing", ready: `document.querySelector("h1")?.textContent === "Not found"`},
	}
}

// Each view of the page can be used by keyboard alone, and is accessible on a phone, on a desk and
// on a wall, in light and in dark.
func TestViews(t *testing.T) {
	shared := openRecorded(t, "", View{})
	shared.wait(`document.querySelector("#stream-state").textContent === "live" && document.querySelector("#slowest tbody tr")`)
	shared.click("#pause")
	for _, v := range views() {
		t.Run(v.name, func(t *testing.T) {
			p := tab{shared.Page, t}
			if v.open != nil {
				p = v.open(t, View{})
			} else {
				p.show(v.hash)
				p.wait(v.ready)
			}
			if v.then != nil {
				v.then(p)
			}
			p.reachable()
			p.accessible()
		})
	}
}
