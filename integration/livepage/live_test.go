package livepage

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A liveShop is the shop whose page is shown while the shop works.
type liveShop struct {
	shop    *Shop
	session int
}

// The page of a real program follows it, records a session by keyboard alone, and saves files. Only
// what holds on any machine is checked: the other tests have recorded answers.
func TestLiveShop(t *testing.T) {
	shop, err := StartShop(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shop.Stop(); err != nil {
			t.Error(err)
		}
	})
	l := &liveShop{shop: shop}
	for _, step := range []struct {
		name string
		do   func(t *testing.T)
	}{
		{"overview", l.overview}, {"session", l.record}, {"timelines", l.timelines}, {"files of the session", l.filesOfSession},
		{"files of a request", l.filesOfRequest}, {"release", l.release},
	} {
		if !t.Run(step.name, step.do) {
			return
		}
	}
}

// load has the shop work until the test ends.
func (l *liveShop) load(t *testing.T) {
	t.Helper()
	stop := l.shop.Load(t.Context(), Everything)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// overview: the page lists the newest and the slowest requests. The lists follow the program until
// they are paused.
func (l *liveShop) overview(t *testing.T) {
	t.Helper()
	p := open(t, l.shop.Page, View{})
	p.wait(`document.querySelector("#stream-state").textContent === "live"`)
	const newest = `document.querySelector("#recent tbody tr")?.dataset.trace`
	for _, r := range []struct {
		call         Call
		name, status string
	}{
		{Call{"GET", "/products/7", ""}, "GET /products/{id}", "200"},
		{Call{"POST", "/orders", `{"product":7,"quantity":2}`}, "POST /orders", "201"},
	} {
		before := eval[string](p, newest+` ?? ""`)
		if err := l.shop.Send(t.Context(), r.call); err != nil {
			t.Fatal(err)
		}
		p.wait(fmt.Sprintf(`%s !== undefined && %s !== %q`, newest, newest, before))
		// Its calls' servers are part of this program, so that the newest root is the request
		// itself.
		p.wait(fmt.Sprintf(`document.querySelector("#recent tbody tr").innerText.startsWith(%q)`, r.name+"\t"+r.status))
	}

	l.load(t)
	p.wait(`document.querySelectorAll("#recent tbody tr").length >= 20 && document.querySelectorAll("#routes tbody tr").length >= 4`)
	slowest := eval[[]float64](p, `(() => {
		const ms = { s: 1000, ms: 1, "µs": 0.001 };
		return [...document.querySelectorAll("#slowest tbody .took")].map((td) => { const [n, unit] = td.innerText.split(" "); return n * ms[unit]; });
	})()`)
	for i := range slowest {
		if i > 0 && slowest[i] > slowest[i-1] {
			t.Errorf("the slowest take %v ms: want the slowest first", slowest)
			break
		}
	}

	p.click("#pause")
	p.wait(`document.querySelector("#stream-state").textContent === "paused"`)
	paused := eval[string](p, newest)
	if err := l.shop.Send(t.Context(), Call{"GET", "/products/9", ""}); err != nil {
		t.Fatal(err)
	}
	p.click("#filter-text")
	p.press("POST /ORDERS")
	p.wait(`location.hash === "#/?text=POST+%2FORDERS" && document.querySelectorAll("#matches tbody tr").length > 0 && !document.querySelector("#recent").checkVisibility()`)
	p.click("#filter-clear")
	p.wait(`location.hash === "#/" && document.querySelectorAll("#recent tbody tr").length >= 20 && document.activeElement.id === "filter-text" && document.querySelector("#recent").checkVisibility()`)
	// By now the page would have been told of others.
	eval[bool](p, `new Promise((done) => {
		const stream = new EventSource("data/v1/stream");
		let told = 0;
		stream.addEventListener("requests", () => {
			if (++told < 3) return;
			stream.close();
			done(true);
		});
	})`)
	if now := eval[string](p, newest); now != paused {
		t.Errorf("the newest request is %s, and was %s when the page was paused", now, paused)
	}
	p.click("#pause")
	p.wait(newest + ` !== "` + paused + `"`)
}

// record: a session is started, watched and stopped by keyboard alone.
func (l *liveShop) record(t *testing.T) {
	t.Helper()
	l.load(t)
	p := open(t, l.shop.Page+"#/sessions?route=POST+%2Forders", View{})
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
	p.wait(newest + `?.querySelector(".state").innerText === "recording"`)
	if err := l.shop.Send(t.Context(), Call{"POST", "/orders", `{"product":11,"quantity":3}`}); err != nil { // all of it is in the session
		t.Fatal(err)
	}
	l.session = eval[int](p, `Number(`+newest+`.dataset.session)`)
	if !eval[bool](p, `document.querySelector("#start").disabled`) {
		t.Error("a second session could be started meanwhile")
	}
	if text := p.text("#nav-sessions"); text != "1 under way" {
		t.Errorf("the top of the page says %q", text)
	}
	// It is seen to grow.
	entries := `Number(` + newest + `.querySelector("[data-cell=entries]").innerText.replaceAll(",", ""))`
	p.wait(entries + ` > 0`)
	p.wait(fmt.Sprintf(`%s > %d`, entries, eval[int](p, entries)))
	p.wait(`Number(` + newest + `.querySelector("[data-cell=samples]").innerText.replaceAll(",", "")) > 20`)
	p.until(kb.Tab, `document.activeElement.dataset.act === "stop"`)
	p.press(kb.Enter)
	p.wait(newest + `.querySelector(".state").innerText === "ready"`)
	p.wait(fmt.Sprintf(`document.querySelector("#session-status").textContent === "Session %d is ready"`, l.session)) // for screen readers
}

// timelines: a request opens to its events: one that began after the session, which has all of
// them.
func (l *liveShop) timelines(t *testing.T) {
	t.Helper()
	p := open(t, l.shop.Page+fmt.Sprintf("#/sessions/%d", l.session), View{})
	p.wait(`document.querySelector("#timelines tbody tr")`)
	request := `[...document.querySelectorAll("#timelines tr[data-timeline]")].find((tr) => tr.innerText.includes("POST /orders") && !tr.children[1].innerText.startsWith("-"))`
	eval[bool](p, `(`+request+`.querySelector(".twist").focus(), true)`)
	p.press(kb.Enter)
	// A group of samples may come first: its time begins up to an interval before its sample, which may lie between two spans.
	event := request + `.nextElementSibling.querySelector("tr[data-event]:not([data-type=samples])")`
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
}

// release: a session's release is asked for, and can be refused.
func (l *liveShop) release(t *testing.T) {
	t.Helper()
	p := open(t, l.shop.Page+fmt.Sprintf("#/sessions/%d", l.session), View{})
	p.wait(`document.querySelector("#release-session")?.checkVisibility()`)
	p.until(kb.Tab, `document.activeElement.id === "release-session"`)
	p.press(kb.Enter)
	p.wait(`document.querySelector("dialog#release[open]")`)
	p.press(kb.Escape)
	p.wait(`!document.querySelector("dialog") && document.activeElement.id === "release-session"`)
	if !eval[bool](p, fmt.Sprintf(`fetch("data/v1/sessions/%d/firefox").then((r) => r.ok)`, l.session)) {
		t.Error("the session is released, though nobody said yes")
	}
	p.press(kb.Enter)
	p.wait(`document.querySelector("dialog#release[open]")`)
	p.until(kb.Tab, `document.activeElement.id === "release-yes"`)
	p.press(kb.Enter)
	p.wait(fmt.Sprintf(`location.hash === "#/sessions" && !document.querySelector("#sessions tr[data-session='%d']")`, l.session))
}
