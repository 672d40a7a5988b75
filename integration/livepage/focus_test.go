package livepage

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// minuteWithout shows the profile of the last minute, which has no samples yet.
const minuteWithout = `(async () => {
	const { profilePage } = await import(location.pathname + "page/profile.js");
	const main = document.getElementById("main");
	main.replaceChildren();
	answers.flame = () => ({ title: "the last minute", samples: 0, total: 0, interval: 1, engine: "cpu", functions: [], nodes: [] });
	profilePage({ main, latest: {}, query: new URLSearchParams("last=minute"), title() {} });
	return true;
})()`

// The links and buttons of a profile keep the focus when the profile is asked for again, and a screen reader hears one time that it waits.
func TestFocusWhileProfileIsAskedForAgain(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, minuteWithout)
	p.wait(`document.querySelector("#minute-waits")`)
	eval[bool](p, `(document.querySelector("#minute-waits").dataset.first = "true", document.querySelector("main .acts a").focus(), true)`)
	p.tick(2) // it asks by itself
	if n := eval[int](p, `calls.length`); n != 3 {
		t.Errorf("it asked %d times, want 3", n)
	}
	if !eval[bool](p, `document.activeElement === document.querySelector("main .acts a") && document.querySelector("#minute-waits").dataset.first === "true"`) {
		t.Errorf("the focus is on %s, want the link; the page shows\n%s", eval[string](p, `document.activeElement.outerHTML.slice(0, 100)`), p.text("main"))
	}
	eval[bool](p, `(calls.length = 0, document.querySelector("#refresh").focus(), true)`)
	p.press(kb.Enter)
	p.wait(`calls.length >= 1`)
	p.settle()
	if id := eval[string](p, `document.activeElement.id`); id != "refresh" {
		t.Errorf("after it is pressed, the focus is on %q, want the button", id)
	}
}

// The list of profiles that the reader compares with keeps the focus while its arrow keys choose.
func TestFocusWhileChoosingOtherProfile(t *testing.T) {
	p := openRecorded(t, fmt.Sprintf("#/profile?tab=difference&session=%d", recorded.session), View{})
	p.wait(`document.querySelectorAll("#difference-with option").length > 2`)
	eval[bool](p, `(document.querySelector("#difference-with").focus(), true)`)
	for range 2 {
		before := eval[string](p, `document.querySelector("#difference-with").value`)
		p.press(kb.ArrowDown)
		p.wait(`document.querySelector("#difference-with").value !== ` + quoted(before) + ` && document.querySelector("#panel").ariaBusy !== "true" &&
			new URLSearchParams(location.hash.split("?")[1]).get("with") === document.querySelector("#difference-with").value && document.querySelector("#changes tbody tr, #difference-empty")`)
		if id := eval[string](p, `document.activeElement.id`); id != "difference-with" {
			t.Fatalf("the focus is on %q, want the list", id)
		}
	}
}

// A link in the list of profiles keeps the focus when another session is ready.
func TestFocusInProfilesWhenSessionIsReady(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, `(answers["1"] = answers["2"] = () => ({ routes: [{ route: 3, name: "GET /", samples: 2 }] }), true)`)
	p.view("profiles.js", "profileList", `[]`, `{ sessions: { sessions: [{ id: 1, start: 1000, state: "ready", samples: 2, length: 1 }] } }`)
	const link = `document.querySelector("#profiles a[href*='session=1&']")`
	p.wait(link)
	eval[bool](p, `(`+link+`.focus(), true)`)
	p.tell("sessions", `{ sessions: [{ id: 2, start: 2000, state: "ready", samples: 2, length: 1 }, { id: 1, start: 1000, state: "ready", samples: 2, length: 1 }] }`)
	p.wait(`document.querySelectorAll("#profiles section").length === 3`)
	if !eval[bool](p, `document.activeElement === `+link) {
		t.Errorf("the focus is on %s", eval[string](p, `document.activeElement.outerHTML.slice(0, 100)`))
	}
	if got := eval[string](p, `[...document.querySelectorAll("#profiles h2")].map((h) => h.innerText.split(",")[0]).join()`); got != "Now,Session 2,Session 1" {
		t.Errorf("the sections are %s", got)
	}
	p.tell("sessions", `{ sessions: [] }`)
	p.wait(`document.querySelectorAll("#profiles section").length === 1 && document.querySelector("#profiles").innerText.includes("No session has samples.")`)
}
