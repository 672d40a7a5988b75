package livepage

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// A part of a request has its own segments, finer than the whole request's.
func TestSegmentsOfPart(t *testing.T) {
	p := openBusy(t, "")
	const fine = `[...document.querySelectorAll("#waterfall tbody tr:first-child .part")].filter((n) => /^network [78]\.\d+ µs in/.test(n.title)).length` // a part is as long as its columns
	if n := eval[int](p, fine); n > 0 {
		t.Errorf("%d waits of 8 µs are in the bar of the whole request, which has no room for them", n)
	}
	hash := eval[string](p, `location.hash.split("?")[0]`)
	p.show(hash + "?from=30&to=30.2")
	p.part(30, 30.2)
	p.wait(fine + ` >= 9`)
	p.show(hash)
	p.part(0, 100)
	p.wait(fine + ` === 0`)
}

// A wait is chosen by a click or by keys. Its details link to the request that ended it.
func TestChooseWait(t *testing.T) {
	p := openBusy(t, "")
	wait := func(want string) {
		t.Helper()
		p.wait(`document.querySelector("#wait")?.innerText.startsWith("` + want + `")`)
	}
	p.click(`#waterfall tr:has(.pick[title="render"]) .part[data-class="waiting"]`)
	wait("15.0 ms mutex in (*Index).Search from 60.0 ms, ended by (*Index).rebuild of POST /index.")
	if n := eval[int](p, `document.querySelectorAll("#waterfall .part.chosen").length`); n != 1 {
		t.Errorf("%d parts are marked as chosen, want 1", n)
	}
	hash := eval[string](p, `location.hash.split("?")[0]`)
	eval[bool](p, `(document.querySelector("#waterfall .part.chosen").dataset.before = "whole", true)`)
	p.show(hash + "?from=55&to=80")
	p.part(55, 80)
	p.wait(`!document.querySelector("[data-before]") && document.querySelector("#waterfall .part.chosen")?.title.startsWith("mutex 15.0 ms")`)
	p.show(hash)
	p.part(0, 100)
	p.wait(`document.querySelectorAll("#waterfall .part.chosen").length === 1`)

	p.show(hash + "?from=29.95&to=30.05")
	p.part(29.95, 30.05)
	p.wait(`[...document.querySelectorAll("#waterfall tbody tr:first-child .part")].some((n) => /^network [78]\.\d+ µs in/.test(n.title))`)
	eval[bool](p, `(document.querySelector("#waterfall tbody tr:first-child .pick").focus(), true)`)
	p.press(kb.Enter)
	p.press(".")
	wait("8.00 µs network in (*Index).Search from ")
	first := p.text("#wait")
	p.press(".")
	p.wait(`document.querySelector("#wait").innerText !== ` + quoted(first))
	wait("8.00 µs network in (*Index).Search from ")
	p.press(",")
	p.wait(`document.querySelector("#wait").innerText === ` + quoted(first))

	eval[bool](p, `(document.querySelector('#waterfall .pick[title="render"]').focus(), true)`)
	p.press(kb.Enter)
	p.press("0")
	p.part(0, 100)
	p.wait(`document.querySelector("#details h2").innerText.includes("render")`)
	p.press(".")
	wait("15.0 ms mutex")
	p.click("#wait a")
	p.wait(`document.querySelector("h1")?.innerText === "POST /index"`)
}

// A wait has a link at its end, on the bar of the innermost span, to the request that ended it.
func TestLinkAtEndOfWait(t *testing.T) {
	p := openBusy(t, "")
	const link = `document.querySelector("#waterfall a.end")`
	if n := eval[int](p, `document.querySelectorAll("#waterfall a.end").length`); n != 1 {
		t.Errorf("%d waits have a link at their end, want 1", n)
	}
	if row := eval[string](p, link+`.closest("tr").querySelector(".pick").title`); row != "render" {
		t.Errorf("the link is on the bar of %s, want render", row)
	}
	if label := eval[string](p, link+`.ariaLabel`); label != "The wait of 15.0 ms was ended by POST /index" {
		t.Errorf("assistive technology calls the link %q", label)
	}
	if at := eval[float64](p, `(() => {
		const axis = document.querySelector("#waterfall .axis").getBoundingClientRect();
		return (`+link+`.getBoundingClientRect().left - axis.left) / axis.width * 100;
	})()`); at < 74.5 || at > 75.5 {
		t.Errorf("the link is at %.1f ms, want 75 ms", at)
	}
	p.click("#waterfall a.end")
	p.wait(`document.querySelector("h1")?.innerText === "POST /index"`)
}

// quoted is a text as a literal of the page's language.
func quoted(text string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(text) + "`"
}
