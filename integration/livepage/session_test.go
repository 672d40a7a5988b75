package livepage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A session is started, watched, stopped and released by keyboard alone; its timelines open to
// their events.
func TestSession(t *testing.T) {
	underLoad(t)
	p := open(t, shop.Page+"#/sessions?route="+"POST+%2Forders", View{})
	p.wait(`document.querySelector("#start:enabled")?.checkVisibility()`)
	if !eval[bool](p, `document.querySelector("#begin-route").checked && document.querySelector("#route").value === "POST /orders"`) {
		t.Errorf("the form is not of the route that was asked for")
	}
	p.until(kb.Tab, `document.activeElement.id === "begin-route"`)
	p.press(kb.ArrowUp) // of the radio buttons the other one
	p.wait(`document.querySelector("#begin-now").checked`)
	p.until(kb.Tab, `document.activeElement.id === "length"`)
	p.press(kb.Backspace + kb.Backspace + "500")
	p.until(kb.Tab, `document.activeElement.id === "interval"`)
	p.press("1" + kb.Enter)
	p.wait(`document.querySelector("#sessions tbody tr .state")?.innerText === "recording"`)
	row := `document.querySelector("#sessions tbody tr")`
	id := eval[string](p, row+`.dataset.session`)
	if !eval[bool](p, `document.querySelector("#start").disabled`) {
		t.Error("a second session could be started meanwhile")
	}
	if text := p.text("#nav-sessions"); text != "1 under way" {
		t.Errorf("the top of the page says %q", text)
	}
	// It is seen to grow.
	entries := `Number(` + row + `.querySelector("[data-cell=entries]").innerText.replaceAll(",", ""))`
	p.wait(entries + ` > 0`)
	p.wait(fmt.Sprintf(`%s > %d`, entries, eval[int](p, entries)))
	p.wait(`Number(` + row + `.querySelector("[data-cell=samples]").innerText.replaceAll(",", "")) > 50`)
	p.until(kb.Tab, `document.activeElement.dataset.act === "stop"`)
	p.press(kb.Enter)
	p.wait(row + `.querySelector(".state").innerText === "ready"`)
	p.wait(`document.querySelector("#session-status").textContent === "Session ` + id + ` is ready"`) // for screen readers
	p.show("#/sessions/" + id)
	p.wait(`document.querySelector("#timelines tbody tr")`)

	// A request opens to its events: one that began after the session, which has all of them.
	request := `[...document.querySelectorAll("#timelines tr[data-timeline]")].find((tr) => tr.innerText.includes("POST /orders") && !tr.children[1].innerText.startsWith("-"))`
	eval[bool](p, `(`+request+`.querySelector(".twist").focus(), true)`)
	p.press(kb.Enter)
	event := request + `.nextElementSibling.querySelector("tr[data-event]")`
	p.wait(event)
	if text := eval[string](p, event+`.innerText`); !strings.Contains(text, "request") || !strings.Contains(text, "POST /orders") {
		t.Errorf("the first event is %q, want the request", text)
	}
	eval[bool](p, `(`+event+`.querySelector(".twist").focus(), true)`)
	p.press(kb.Enter)
	below := request + `.nextElementSibling.innerText`
	for _, name := range []string{"checkout", "order.accepted", "product="} {
		p.wait(below + `.includes("` + name + `")`)
	}
	p.until(kb.Tab, `document.activeElement.innerText === "summed up"`, chromedp.ModifierShift)
	p.press(kb.Enter)
	p.wait(request + `.nextElementSibling.querySelector("table.summary tbody tr th .kind")`)

	// Its release is asked for, and can be refused.
	p.until(kb.Tab, `document.activeElement.id === "release-session"`, chromedp.ModifierShift)
	p.press(kb.Enter)
	p.wait(`document.querySelector("dialog#release[open]")`)
	p.press(kb.Escape)
	p.wait(`!document.querySelector("dialog") && document.activeElement.id === "release-session"`)
	if !eval[bool](p, `fetch("data/v1/sessions/`+id+`/firefox").then((r) => r.ok)`) {
		t.Error("the session is released, though nobody said yes")
	}
	p.press(kb.Enter)
	p.wait(`document.querySelector("dialog#release[open]")`)
	p.until(kb.Tab, `document.activeElement.id === "release-yes"`)
	p.press(kb.Enter)
	p.wait(`location.hash === "#/sessions" && !document.querySelector("#sessions tr[data-session='` + id + `']")`)
}
