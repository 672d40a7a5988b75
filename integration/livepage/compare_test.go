package livepage

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/sessions"
)

// comparedAddress is the address of the comparison of the recorded request with a usual one.
func comparedAddress() string {
	return "#/compare?a=" + strings.TrimPrefix(recorded.request, "#/requests/")
}

const comparisonShown = `document.querySelector("#both tbody tr") && document.querySelector("#spans tbody tr")`

// A request is compared with a usual one by a click. Its bars are above the other request's, on one axis.
func TestCompare(t *testing.T) {
	p := openRecorded(t, recorded.request, View{})
	p.wait(`document.querySelector("#compare")`)
	name, took := p.text("h1"), p.text("#took")
	p.click("#compare")
	p.wait(comparisonShown)
	if hash := eval[string](p, "location.hash"); hash != comparedAddress() {
		t.Errorf("the address is %s, want %s", hash, comparedAddress())
	}
	if side := p.text("#sides [data-side=A]"); !strings.Contains(side, name) || !strings.Contains(side, took) {
		t.Errorf("A is %q, want %s of %s", side, name, took)
	}
	if side := p.text("#sides [data-side=B]"); !strings.Contains(side, name) || !strings.Contains(side, "to the median of the route") {
		t.Errorf("B is %q, want a request near the median", side)
	}
	if sentence := p.text("#sentence"); !strings.Contains(sentence, "were in") && !strings.Contains(sentence, "more in") && !strings.Contains(sentence, "both took") {
		t.Errorf("the sentence is %q", sentence)
	}
	wrong := eval[[]string](p, `[...document.querySelectorAll("#both tbody tr")].flatMap((tr) => [...tr.querySelectorAll(".track")].map((track) => {
		const axis = track.getBoundingClientRect();
		const bars = [...track.querySelectorAll(".bar")].map((bar) => bar.getBoundingClientRect());
		const n = tr.querySelector(".num").innerText.split(" | ")[track.dataset.side === "a" ? 0 : 1];
		return bars.length === Number(n) && bars.every((bar) => bar.left >= axis.left - 1 && bar.right <= axis.right + 3 && bar.width > 0 && bar.height > 2) ? "" : tr.innerText;
	})).filter(Boolean)`)
	if len(wrong) > 0 {
		t.Errorf("outside of the axis, or not as many bars as spans: %q", wrong)
	}
	widths := eval[[]float64](p, `[...document.querySelectorAll("#both tbody tr:first-child .bar")].map((bar) => bar.getBoundingClientRect().width / bar.closest(".track").getBoundingClientRect().width)`)
	if len(widths) != 2 || max(widths[0], widths[1]) < 0.98 {
		t.Errorf("the requests take %v of the axis, want one all of it", widths)
	}
	wrong = eval[[]string](p, `[...document.querySelectorAll("tr:not([hidden]) .delta")].flatMap((node) => {
		const axis = node.getBoundingClientRect(), bar = node.firstElementChild.getBoundingClientRect();
		const text = node.closest("td").innerText.trim();
		const share = Number(node.firstElementChild.style.getPropertyValue("--width"));
		const away = text.startsWith("+") ? bar.left - axis.left - axis.width / 2 : axis.left + axis.width / 2 - bar.right;
		return Math.abs(away) <= 1.5 && Math.abs(bar.width - Math.max(1, share * axis.width)) < 0.5 ? [] : [text + ": " + bar.width];
	})`)
	if len(wrong) > 0 {
		t.Errorf("bars of differences not from the middle, or longer than their share: %q", wrong)
	}
	if longest := eval[float64](p, `document.querySelector("#spans .delta > span").getBoundingClientRect().width / document.querySelector("#spans .delta").getBoundingClientRect().width`); longest < 0.49 {
		t.Errorf("the largest difference has %g of the axis, want half", longest)
	}
	if rows := eval[int](p, `document.querySelectorAll("#functions tbody tr").length`); rows == 0 {
		t.Error("no function is listed for a request with samples")
	}
	if !eval[bool](p, `Boolean(document.querySelector("#waits tbody tr, a[href='#/waits']:not([data-page])"))`) {
		t.Errorf("the page has neither waits nor how to get them: %s", p.text("main"))
	}
}

// Both sides can be swapped, and another request of the route selected, by mouse and by keyboard. The focus stays in the page.
func TestCompareOthers(t *testing.T) {
	p := openRecorded(t, comparedAddress(), View{})
	p.wait(comparisonShown)
	traces := `[...document.querySelectorAll("#sides a")].map((a) => a.hash).join(" ")`
	before := strings.Fields(eval[string](p, traces))
	p.click("#swap")
	p.wait(traces + fmt.Sprintf(` === %q`, before[1]+" "+before[0]))
	if !eval[bool](p, `document.activeElement?.id === "swap"`) {
		t.Error("the focus has left the button")
	}
	p.press(kb.Enter)
	p.wait(traces + fmt.Sprintf(` === %q`, before[0]+" "+before[1]))

	p.press(kb.Tab)
	p.press(kb.Enter) // opens the list
	p.wait(`document.querySelector("#choices").open`)
	p.press(kb.Tab)
	p.press(kb.ArrowDown)
	p.press(kb.End)
	chosen := eval[string](p, `(document.activeElement === [...document.querySelectorAll("#choices a")].at(-1) && document.activeElement.dataset.trace) || ""`)
	if chosen == "" {
		t.Fatal("the focus is not on the last request of the list")
	}
	p.press(kb.Enter)
	p.wait(traces + fmt.Sprintf(`.includes(%q)`, chosen))
	if !eval[bool](p, `document.activeElement.id === "main"`) {
		t.Error("the focus is nowhere after the list is gone")
	}
	if after := eval[string](p, traces); !strings.HasPrefix(after, before[0]+" ") || strings.Contains(p.text("#sides"), "median") {
		t.Errorf("compared are %s, want %s with the chosen one: %s", after, before[0], p.text("#sides"))
	}
	p.must(p.Back())
	p.wait(traces + fmt.Sprintf(` === %q`, before[0]+" "+before[1]))
}

// Without another request the page says how to get one. With many spans it has the largest differences first, and all after a click.
func TestCompareFewAndMany(t *testing.T) {
	base, page := serve(t, bridgehttp.Server{}, func(_ http.ResponseWriter, r *http.Request) {
		for i := range len(r.URL.Query().Get("n")) {
			_, m := marks.Start(r.Context(), fmt.Sprintf("step %d", i))
			m.End()
		}
	}, sessions.Config{})
	request(t, base+"/?n="+strings.Repeat("x", 60))
	p := openWithFaults(t, page, View{}) // whose missing answer counts as a fault
	p.wait(`document.querySelector("#recent tbody tr")`)
	first := eval[string](p, `document.querySelector("#recent tbody a").hash`)
	p.show(strings.Replace(first, "requests/", "compare?a=", 1))
	p.wait(`document.querySelector("#error")`)
	if text := p.text("#error"); !strings.Contains(text, "send one, and compare again") {
		t.Errorf("the error is %q", text)
	}
	p.click("main p a")
	p.wait(`document.querySelector("#compare")`)
	request(t, base+"/?n=x")
	p.click("#compare")
	p.wait(comparisonShown)
	if text := p.text("#spans"); !strings.Contains(text, "only in A") {
		t.Errorf("no span is only in A: %s", text)
	}
	shown := `[...document.querySelectorAll("#spans tbody tr")].filter((tr) => tr.checkVisibility()).length`
	if n := eval[int](p, shown); n != 25 {
		t.Errorf("%d spans are shown, want the first 25", n)
	}
	p.click("#spans-more")
	if n := eval[int](p, shown); n != 61 {
		t.Errorf("%d spans are shown after the click, want 61", n)
	}
	if !eval[bool](p, `document.activeElement === document.querySelectorAll("#spans tbody tr")[25] && !document.querySelector("#spans-more").checkVisibility()`) {
		t.Error("the focus is not on the first new row")
	}
}

// The waits of a request with an execution trace are listed. The other request's are unknown.
func TestCompareWaits(t *testing.T) {
	w, page, request := startWaiting(t)
	newest := w.recent.Requests()
	p := open(t, page+strings.Replace(request, "requests/", "compare?a=", 1)+fmt.Sprintf("&b=%s/%s", newest[1].TraceID, newest[1].SpanID), View{})
	p.wait(comparisonShown)
	if text := p.text("#waits tbody tr"); !strings.Contains(text, "mutex") || !strings.Contains(text, "40.0 ms") || !strings.Contains(text, "unknown") {
		t.Errorf("the first row is %q, want 40 ms for a mutex, and unknown", text)
	}
	if text := p.text("main"); !strings.Contains(text, "Only A has a result. The other one has none: ") {
		t.Errorf("the page does not say that only A has waits: %s", text)
	}
}
