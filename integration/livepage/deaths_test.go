package livepage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Somebody who opens the page after a crash finds the report in one look, and the request in three clicks.
func TestDeathsAreFound(t *testing.T) {
	r := startReplay(t)
	p := open(t, r.page, View{})
	const link, note = `document.querySelector("[data-page=deaths]").checkVisibility()`, `document.querySelector("#died")?.checkVisibility()`
	p.wait(`document.querySelector("#stream-state").textContent === "live" && document.querySelector("#slowest tbody tr")`)
	if eval[bool](p, link) || eval[bool](p, note) {
		t.Error("a program without reports has a link to them")
	}
	const well = `{"pid": 9, "kind": "ended", "last": 2000, "open": 0, "sentence": "shop (process 9) ended well"}`
	const crash = `{"pid": 7, "kind": "panic", "last": 1000, "open": 2, "sentence": "shop (process 7) died of a panic, x < y"}`
	r.tell("deaths", json.RawMessage(`[`+well+`]`))
	p.wait(link)
	if eval[bool](p, note) || eval[bool](p, `document.querySelector("#nav-deaths").checkVisibility()`) {
		t.Error("a process that ended well counts as a death")
	}
	r.tell("deaths", json.RawMessage(`[`+well+`, `+crash+`, `+strings.Replace(crash, "7", "6", 1)+`]`))
	p.wait(note)
	const want = "An earlier process died: shop (process 7) died of a panic, x < y; last sign of life 1970-01-01 00:00:01 UTC; 2 open requests. 1 other process died before. What was open"
	if got := p.text("#died"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := p.text("#nav-deaths"); got != "2" {
		t.Errorf("the link counts %q deaths, want 2", got)
	}
	p.accessible()
	p.click("#died a")
	p.wait(`document.querySelector("#deaths .open a")`)
	p.click("#deaths .open a")
	p.wait(`document.querySelector("#waterfall tbody tr")`)
	r.tell("deaths", json.RawMessage(`[]`)) // of another process behind the same address
	p.wait(`!` + link)
}

// A summary says that a process died, and has no link to the open requests.
func TestDeathInSummary(t *testing.T) {
	r := startReplay(t)
	page := strings.Replace(string(r.events["page"]), `"everything"`, `"summary"`, 1)
	p := open(t, r.page, View{})
	p.wait(`document.querySelector("#stream-state").textContent === "live"`)
	r.tell("deaths", json.RawMessage(`[{"pid": 7, "kind": "memory limit", "last": 1000, "open": 1}]`))
	r.tell("page", json.RawMessage(page))
	p.wait(`document.body.dataset.data === "summary" && document.querySelector("#died").checkVisibility()`)
	const want = "An earlier process died: memory limit (process 7); last sign of life 1970-01-01 00:00:01 UTC; 1 open request."
	if got := strings.TrimSpace(p.text("#died")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if eval[bool](p, `document.querySelector("[data-page=deaths]").checkVisibility()`) {
		t.Error("the head has a link to the reports")
	}
}

// The numbers that are left out are told, and texts are shown as text.
func TestDeathReports(t *testing.T) {
	p := madeUp(t)
	for _, c := range hostile[:4] { // the server has cut and escaped the others
		text, err := json.Marshal(c.text[:min(len(c.text), 200)])
		if err != nil {
			t.Fatal(err)
		}
		eval[bool](p, fmt.Sprintf(`(answers.deaths = () => ({ reports: [
			{ pid: 7, kind: "panic", last: 5000, started: 1000, open: 500, sentence: %[1]s, words: %[1]s.repeat(50), leftOut: 3, finished: 4, lost: 5,
				routes: [{ name: %[1]s, count: 300, oldest: 2000 }],
				requests: [{ trace: "01", span: "02", name: %[1]s, start: 2000, took: 3000, in: %[1]s, inFor: 7, crashed: true, leftOut: 6 }, { trace: "01", span: "03", name: "GET /", start: 4000, took: 1000 }] },
			{ pid: 6, kind: "ended", last: 900, started: 100, open: 0, sentence: "ended well", routes: [], requests: [] },
		] }), true)`, text))
		p.view("deaths.js", "deathsPage", `[]`, `{}`)
		p.wait(`document.querySelectorAll("#deaths .death").length === 2`)
		p.must(p.Look(View{Width: 360, Height: 740}))
		if eval[bool](p, `"hacked" in window || document.querySelector("main :is(script, img, svg)") !== null`) {
			t.Errorf("%s: text became elements", c.name)
		}
		if over := eval[float64](p, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s: on a phone, it is %g pixels too wide", c.name, over)
		}
	}
	for _, want := range []string{
		"4.00 s after the start", "500 open requests", "498 open requests are not in the list.", "3 requests had no room in the file",
		"4 finished spans waited for the backend", "5 finished spans had no room", "its goroutine crashed", "6 older entries had no room",
		"for 7.00 ms", "other names\t200",
	} {
		if got := p.text("#deaths"); !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
	eval[bool](p, `(answers.deaths = () => { throw new Error("not now") }, true)`)
	p.tell("deaths", `[]`)
	p.wait(`document.querySelector("#error").checkVisibility() && document.querySelector("#error").innerText === "not now"`)
	eval[bool](p, `(answers.deaths = () => ({ reports: [] }), true)`)
	p.tell("deaths", `[]`)
	p.wait(`document.querySelector("#no-deaths").checkVisibility()`)
}
