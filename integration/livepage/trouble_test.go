package livepage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// sessionOf is what the page is told of session 1.
func sessionOf(state string, start int) string {
	return fmt.Sprintf(`{ sessions: [{ id: 1, state: %q, route: "GET /x", start: %d, length: 1000, progress: 1, entries: 3, samples: 5 }] }`, state, start)
}

// madeUpSession is a page that shows session 1, with a timeline that has an event, and that more can be asked of.
func madeUpSession(t *testing.T) tab {
	t.Helper()
	p := madeUp(t)
	eval[bool](p, `(() => {
		window.now = 1; // which session it is that has the id
		window.files = [{ format: "json", name: "JSON", use: "for programs" }];
		const timeline = (timelineID) => ({ timelineID, title: "of program " + now, interval: { start: 0, end: 5 }, eventCount: 3, sampleCount: 5 });
		Object.assign(answers, {
			GetSession: ({ afterTimelineID: after = 0 }) => ({ timelineList: [timeline(after + 1)], stats: { samples: 5 }, more: after === 0 }),
			GetEvents: ({ afterEventID: after = 0, mode }) => ({ more: after === 0 || mode !== undefined, eventList: [{ eventID: after + 1, type: "EVENT_TYPE_MARK", name: "event " + after, childCount: 1 }] }),
			1: () => ({ id: 1, timelines: 2, requests: 1, samples: 5, routes: [{ route: 7, name: "GET /x", requests: 1, samples: 5, max: 5 }], cut: 0, files }),
		});
		return true;
	})()`)
	return p
}

const onlyTimelines = `[...document.querySelectorAll("#timelines tr[data-timeline] bdi")].map((n) => n.textContent).join()`

// After a restart of the program another session has the same id: the page shows either the one or the other.
func TestSessionOfAnotherProgram(t *testing.T) {
	p := madeUpSession(t)
	p.view("session.js", "sessionPage", `["1"]`, `{ sessions: `+sessionOf("ready", 1000)+` }`)
	p.wait(onlyTimelines + ` === "of program 1"`)
	eval[bool](p, `(now = 2, true)`)
	p.tell("sessions", sessionOf("recording", 2000))
	if text := p.text("#session"); text != "" {
		t.Errorf("another session is recording, and the page still shows %q", text)
	}
	p.tell("sessions", sessionOf("ready", 2000))
	p.wait(onlyTimelines + ` === "of program 2"`)
	eval[bool](p, `(now = 3, true)`)
	p.tell("sessions", sessionOf("ready", 3000))
	p.wait(onlyTimelines + ` === "of program 3"`)

	// An answer that comes late is of no session that is shown.
	eval[bool](p, `(() => {
		const real = answers.GetSession;
		answers.GetSession = (a) => new Promise((done) => { window.late = () => done(real(a)); });
		return true;
	})()`)
	p.tell("sessions", sessionOf("ready", 4000))
	p.wait(`window.late`)
	p.tell("sessions", `{ sessions: [] }`)
	eval[bool](p, `(late(), true)`)
	p.settle()
	if text := p.text("#session"); text != "" {
		t.Errorf("the session is gone, and the page shows %q", text)
	}
}

// Flame graphs have the routes of all timelines, also those that the page does not list.
func TestRoutesOfAllTimelines(t *testing.T) {
	p := madeUpSession(t)
	eval[bool](p, `(() => {
		const routes = [{ route: 9, name: "GET /rare", requests: 1, samples: 900, max: 5 }, { route: 2, name: "process", requests: 0, samples: 80, max: 0 }, { route: 3, name: "GET /none", requests: 4, samples: 0, max: 1 }];
		answers[1] = () => ({ id: 1, timelines: 5000, requests: 4000, samples: 980, routes, cut: 6, files });
		return true;
	})()`)
	p.view("session.js", "sessionPage", `["1"]`, `{ sessions: `+sessionOf("ready", 1000)+` }`)
	p.wait(`document.querySelector("#flames li")`)
	want := "The whole session 980 samples #/profile?session=1\n" +
		"GET /rare 900 samples, 1 request, 5.00 ms at most #/profile?session=1&route=9\n" +
		"process 80 samples #/profile?session=1&route=2"
	if got := eval[string](p, `[...document.querySelectorAll("#flames li")].map((li) => li.textContent + " " + li.querySelector("a").getAttribute("href")).join("\n")`); got != want {
		t.Errorf("flame graphs are\n%s\nwant\n%s", got, want)
	}
	if text := p.text("#flames p"); !strings.HasPrefix(text, "Not listed: 6 routes") {
		t.Errorf("the page says %q, want how many routes are not listed", text)
	}
}

// A session that could not be had is asked for again.
func TestSessionTriesAgain(t *testing.T) {
	p := madeUpSession(t)
	eval[bool](p, `(() => {
		window.real = answers.GetSession;
		answers.GetSession = () => { throw new Error("on purpose"); };
		return true;
	})()`)
	p.view("session.js", "sessionPage", `["1"]`, `{ sessions: `+sessionOf("ready", 1000)+` }`)
	p.wait(`document.querySelector("#error").innerText === "on purpose"`)
	eval[bool](p, `(answers.GetSession = window.real, true)`)
	p.tick(1)
	p.wait(onlyTimelines + ` === "of program 1" && document.querySelector("#error").hidden`)
}

// The page reports a session that was released elsewhere, and then shows it no more.
func TestSessionReleasedElsewhere(t *testing.T) {
	p := madeUpSession(t)
	p.view("session.js", "sessionPage", `["1"]`, `{ sessions: `+sessionOf("ready", 1000)+` }`)
	p.wait(onlyTimelines + ` === "of program 1"`)
	eval[bool](p, `(() => {
		window.real = { ...answers };
		for (const name in answers) answers[name] = () => { throw new Error("released, " + name); };
		return true;
	})()`)
	for _, c := range []struct{ click, want string }{
		{"#more-timelines", "released, GetSession"},
		{"#timelines .twist", "released, GetEvents"},
		{"#timelines .inside .more", "released, GetEvents"},
		{"#timelines .inside [role=group] button:nth-child(2)", "released, GetEvents"},
		{"#files a", "released, GetSession"},
	} {
		eval[bool](p, `(document.querySelector("#error").hidden = true)`)
		p.click(c.click)
		p.wait(fmt.Sprintf(`document.querySelector("#error").checkVisibility() && document.querySelector("#error").innerText === %q`, c.want))
	}
	// A failed request can be repeated.
	eval[bool](p, `(Object.assign(answers, real), true)`)
	p.click("#timelines .inside [role=group] button:nth-child(1)")
	p.wait(`document.querySelector("#timelines .inside tr[data-event]") && document.querySelector("#timelines .inside .more")`)

	p.click("#release-session")
	p.wait(`document.querySelector("dialog[open]")`)
	p.tell("sessions", `{ sessions: [] }`)
	p.wait(`!document.querySelector("dialog")`)
	if text := p.text("main"); strings.Contains(text, "Firefox") || strings.Contains(text, "of program") || !strings.Contains(text, "There is no session 1") {
		t.Errorf("the session is gone, and the page shows\n%s", text)
	}
	if n := eval[int](p, `document.querySelectorAll("#session a, #release-session:not([hidden])").length`); n > 0 {
		t.Errorf("the session is gone, and has %d links", n)
	}
}

// An element that replaces a focused button gets the focus.
func TestFocusGoesOn(t *testing.T) {
	p := madeUpSession(t)
	p.view("session.js", "sessionPage", `["1"]`, `{ sessions: `+sessionOf("ready", 1000)+` }`)
	p.wait(`document.querySelector("#more-timelines:not([hidden])")`)
	enter := func(css, want string) {
		t.Helper()
		eval[bool](p, fmt.Sprintf(`(document.querySelector(%q).focus(), true)`, css))
		p.press(kb.Enter)
		p.wait(want)
	}
	enter("#timelines .twist", `document.querySelector("#timelines .inside .more")`)
	enter("#timelines .inside .more", `document.activeElement.closest("tr")?.dataset.event === "2"`)
	enter("#more-timelines", `document.activeElement.closest("tr")?.dataset.timeline === "2"`)

	p.tell("sessions", sessionOf("recording", 2000))
	eval[bool](p, `(document.querySelector("#stop").focus(), true)`)
	p.tell("sessions", sessionOf("ready", 2000))
	p.wait(`document.activeElement.tagName === "H1"`)

	p.view("sessions.js", "sessionsPage", `[]`, `{ sessions: { sessions: [] } }`)
	eval[bool](p, `(document.querySelector("#start").focus(), true)`)
	p.tell("sessions", sessionOf("recording", 2000))
	p.wait(`document.activeElement.closest("tr")?.dataset.session === "1"`)
	eval[bool](p, `(document.querySelector("[data-act=stop]").focus(), true)`)
	p.tell("sessions", sessionOf("ready", 2000))
	p.wait(`document.activeElement.innerText === "Session 1"`)
}

// Events are summed up as far as the service does, and the page says that there are others.
func TestSummedUpIsCut(t *testing.T) {
	p := madeUpSession(t)
	p.view("session.js", "sessionPage", `["1"]`, `{ sessions: `+sessionOf("ready", 1000)+` }`)
	p.wait(onlyTimelines + ` === "of program 1"`)
	p.click("#timelines .twist")
	p.click("#timelines .inside [role=group] button:nth-child(2)")
	p.wait(`document.querySelector("table.summary")?.innerText.includes("There are more than these 1")`)
	if limit := eval[int](p, `calls.at(-1)[1].limit ?? 0`); limit != 10_000 {
		t.Errorf("the limit is %d, want the service's", limit)
	}
}

// A view's question is gone with it, and what was answered before leads nowhere then.
func TestReleaseIsOfItsView(t *testing.T) {
	session := fmt.Sprintf("#/sessions/%d", recorded.session)
	p := openRecorded(t, session, View{})
	p.wait(`document.querySelector("#release-session")?.checkVisibility()`)
	p.click("#release-session")
	p.wait(`document.querySelector("dialog[open]")`)
	p.show("#/counters")
	p.wait(`document.querySelector(".counters table") && !document.querySelector("dialog")`)
	p.click("#pause") // nothing is in the way

	p.show(session)
	p.wait(`document.querySelector("#release-session")?.checkVisibility()`)
	eval[bool](p, `(() => {
		const real = window.fetch;
		window.fetch = (path, options) => path.endsWith("ReleaseSession") ? new Promise((done) => { window.answer = () => done(new Response("{}")); }) : real(path, options);
		return true;
	})()`)
	p.click("#release-session")
	p.click("#release-yes")
	p.wait(`window.answer`)
	p.show("#/counters")
	p.wait(`document.querySelector(".counters table")`)
	eval[bool](p, `(answer(), true)`)
	p.settle()
	if hash := eval[string](p, `location.hash`); hash != "#/counters" {
		t.Errorf("the session is released, and the page goes from the counters to %s", hash)
	}
}
