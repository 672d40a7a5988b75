package livepage

import (
	"fmt"
	"testing"
)

// A view of the page, with the addresses and what is done before it is looked at.
type view struct {
	name string
	open func(t *testing.T, v View) tab
}

// views are all views of the shop's page.
func views() []view {
	at := func(name, hash, ready string, then ...func(p tab)) view {
		return view{name, func(t *testing.T, v View) tab {
			t.Helper()
			p := openRecorded(t, hash, v)
			p.wait(ready)
			for _, do := range then {
				do(p)
			}
			return p
		}}
	}
	pause := func(p tab) {
		p.wait(`document.querySelector("#stream-state").textContent === "live"`)
		p.click("#pause")
	}
	s := fmt.Sprint(recorded.session)
	return []view{
		at("overview", "#/", `document.querySelectorAll("#slowest tbody tr").length > 2`, pause),
		at("request", "#/", `document.querySelector("#slowest tbody tr")`, pause, func(p tab) {
			p.click("#slowest tbody a")
			p.wait(`document.querySelector("#waterfall") && document.querySelector("#ran p, #ran .flames")`)
		}),
		at("request with samples", recorded.request, `document.querySelector("#waterfall") && document.querySelector("#ran .flames")`, pause),
		{"request with states", func(t *testing.T, v View) tab {
			t.Helper()
			return openBusyIn(t, "", v)
		}},
		at("comparison", comparedAddress(), comparisonShown, func(p tab) { p.click("#choices summary") }),
		at("profiles", "#/profile", `document.querySelector("#profiles li a[href*='session=']")`, pause),
		at("flame graph", "#/profile?session="+s, `document.querySelector("#flame [role=treeitem]")`),
		at("top table", "#/profile?tab=top&session="+s, `document.querySelector("#top tbody tr")`),
		at("sandwich", "#/profile?tab=sandwich&function=main.addParts&session="+s, `document.querySelector("#callers [role=treeitem]") && document.querySelector("#callees [role=treeitem]")`),
		at("difference", "#/profile?tab=difference&with=session%3D"+s+"%26route%3D"+fmt.Sprint(recorded.route)+"&session="+s, `document.querySelector("#flame [role=treeitem]") && document.querySelector("#changes tbody tr") &&
			document.querySelector("#difference-with optgroup[label^='Session `+s+`,']")`), // the panel is made again when the sessions are known
		at("sessions", "#/sessions", `document.querySelector("#sessions tbody tr") && document.querySelector("#start:enabled")`, pause),
		at("release", "#/sessions", `document.querySelector("#sessions tbody tr")`, func(p tab) {
			p.click("#sessions [data-act=release]")
			p.wait(`document.querySelector("dialog[open]")`)
		}),
		at("session", "#/sessions/"+s, `document.querySelector("#timelines tbody tr")`, func(p tab) {
			p.click("#timelines tr[data-timeline] .twist")
			p.wait(`document.querySelector("#timelines .inside [data-event], #timelines .inside .muted")`)
		}),
		at("waits", "#/waits", `document.querySelector("#arm")?.checkVisibility()`, pause),
		at("runtime", "#/runtime", `document.querySelectorAll(".chart:not([hidden])").length >= 10`, pause, func(p tab) {
			p.click("[data-chart=heap] summary")
			p.wait(`document.querySelector("[data-chart=heap] tbody tr")`)
		}),
		{"summary", summary},
		at("counters", "#/counters", `document.querySelector(".counters table")`, pause),
		at("no such page", "#/nothing", `document.querySelector("h1")?.textContent === "Not found"`),
	}
}
