package livepage

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The address has the part of the request that is shown.
func TestPartByAddress(t *testing.T) {
	p := openBusy(t, "?from=20&to=40")
	p.part(20, 40)
	p.wait(`document.querySelector("#part").innerText === "20.0 ms – 40.0 ms of 100 ms"`)
	if got := eval[string](p, `[...document.querySelectorAll("#waterfall .axis span")].map((n) => n.innerText).join(", ")`); !strings.Contains(got, "25 ms, ") || !strings.HasSuffix(got, "40 ms") {
		t.Errorf("the ticks are %s", got)
	}
	hash := eval[string](p, `location.hash`)
	p.show(strings.Split(hash, "?")[0] + "?from=50&to=60")
	p.part(50, 60)
	p.show(strings.Split(hash, "?")[0])
	p.part(0, 100)
}

func TestZoomByWheel(t *testing.T) {
	p := openBusy(t, "")
	p.wheel(spot{0, 0.25}, 0, -277.26, chromedp.ModifierCtrl) // e^(-277.26/400) = 1/2
	p.part(12.5, 62.5)
	p.wheel(spot{0, 0.5}, 0, 97.5, chromedp.ModifierShift)
	p.wait(`Number(document.querySelector("#minimap .from").ariaValueNow) > 13 && Number(document.querySelector("#minimap .to").ariaValueNow) > 63`)
	p.wheel(spot{0, 0.5}, 0, 2000, chromedp.ModifierCtrl)
	p.part(0, 100)
	p.wheel(spot{0, 0.5}, 0, 200)
	p.wait(`scrollY > 0 || document.scrollingElement.scrollHeight <= innerHeight`)
	p.part(0, 100) // without a modifier the wheel scrolls
}

func TestZoomByKeys(t *testing.T) {
	p := openBusy(t, "")
	eval[bool](p, `(document.querySelector("#waterfall .pick").focus(), true)`)
	p.press("+")
	p.part(50-100./3, 50+100./3)
	p.press("w")
	p.part(50-50/2.25, 50+50/2.25)
	p.press("s-")
	p.part(0, 100)
	p.press("++")
	p.press("d")
	p.part(50-50/2.25+100/2.25/5, 50+50/2.25+100/2.25/5)
	p.press("a")
	p.part(50-50/2.25, 50+50/2.25)
	p.press(kb.ArrowRight, chromedp.ModifierShift)
	p.part(50-50/2.25+100/2.25/5, 50+50/2.25+100/2.25/5)
	p.press(kb.ArrowLeft, chromedp.ModifierShift)
	p.part(50-50/2.25, 50+50/2.25)
	p.press("0")
	p.part(0, 100)
	// Rows are moved by the arrow keys alone, as before.
	p.press(kb.ArrowDown + kb.Enter)
	p.wait(`document.activeElement.matches("#waterfall tbody tr:nth-child(2) .pick[aria-current=true]")`)
	p.part(0, 100)
	// Letters in the search are letters.
	eval[bool](p, `(document.querySelector("#search").focus(), true)`)
	p.press("was+")
	p.wait(`document.querySelector("#search").value === "was+"`)
	p.part(0, 100)
}

func TestZoomByButtons(t *testing.T) {
	p := openBusy(t, "")
	p.click("#zoom-in")
	p.part(50-100./3, 50+100./3)
	p.click("#zoom-out")
	p.part(0, 100)
	p.click(`#waterfall tr[data-row]:has(.pick[title="encode"]) .pick`)
	p.click("#zoom-row")
	p.part(84.5, 95.5)
	p.click("#zoom-whole")
	p.part(0, 100)
}

// A drag on the axis zooms to a time, one on the bars pans, and a double click shows the whole request. A drag chooses no row.
func TestZoomByDrag(t *testing.T) {
	p := openBusy(t, "")
	p.drag(spot{-1, 0.6}, spot{-1, 0.2})
	p.part(20, 60)
	p.drag(spot{1, 0.75}, spot{1, 0.5})
	p.part(30, 70)
	if at := eval[string](p, `document.querySelector("#waterfall .pick[aria-current]").title`); at != "GET /report" {
		t.Errorf("the drag has chosen %s", at)
	}
	p.drag(spot{-1, 0.5}, spot{-1, 0.25}, chromedp.ModifierShift)
	p.part(40, 80)
	x, y := p.place(spot{0, 0.5})
	for i := 1; i <= 2; i++ {
		p.mouseAt(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(i))
		p.mouseAt(input.DispatchMouseEventTypeMouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(i))
	}
	p.part(0, 100)
	x, y = p.place(spot{1, 0.9}) // the queries are over
	p.mouseAt(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
	p.mouseAt(input.DispatchMouseEventTypeMouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
	p.wait(`document.querySelector("#waterfall tr.group .pick[aria-current]")`)
}

// Two fingers zoom.
func TestZoomByPinch(t *testing.T) {
	p := openBusy(t, "")
	p.touch(input.DispatchTouchEventTypeTouchStart, 0.4, 0.6)
	p.touch(input.DispatchTouchEventTypeTouchMove, 0.3, 0.7)
	p.touch(input.DispatchTouchEventTypeTouchMove, 0.2, 0.8)
	p.touch(input.DispatchTouchEventTypeTouchEnd)
	p.wait(`Number(document.querySelector("#minimap .from").ariaValueNow) > 20 && Number(document.querySelector("#minimap .to").ariaValueNow) < 80`)
}

// The ends of the window in the strip are sliders, and the window can be dragged.
func TestMinimap(t *testing.T) {
	p := openBusy(t, "")
	eval[bool](p, `(document.querySelector("#minimap .from").focus(), true)`)
	p.press(kb.PageUp + kb.PageUp + kb.ArrowRight + kb.ArrowRight)
	p.part(22, 100)
	if got := eval[string](p, `document.activeElement.ariaValueText`); got != "22.0 ms" {
		t.Errorf("the slider is at %q", got)
	}
	p.press(kb.Tab)
	p.wait(`document.activeElement.matches("#minimap .to")`)
	p.press(kb.PageDown + kb.PageDown + kb.PageDown + kb.ArrowLeft)
	p.part(22, 69)
	p.press(kb.Home)
	p.wait(`Number(document.activeElement.ariaValueNow) - 22 < 0.2`)
	p.press(kb.End)
	p.part(22, 100)
	at := func(part float64) (x, y float64) {
		r := eval[[4]float64](p, `(({ left, top, width, height }) => [left, top, width, height])(document.querySelector("#minimap .strip").getBoundingClientRect())`)
		return r[0] + part*r[2], r[1] + r[3]/2
	}
	ax, y := at(1)
	bx, _ := at(0.62)
	p.dragBy(ax, y, bx, y)
	p.part(22, 62)
	ax, _ = at(0.4)
	bx, _ = at(0.6)
	p.dragBy(ax, y, bx, y)
	p.part(42, 82)
	x, _ := at(0.1)
	p.dragBy(x, y, x, y)
	p.part(0, 40)
}
