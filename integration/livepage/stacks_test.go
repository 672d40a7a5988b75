package livepage

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The samples of a span are a flame chart below it, on the request's axis. Keys go through its boxes, and zoom.
func TestStacksOfSpan(t *testing.T) {
	p := open(t, shop.Page+recorded.request, View{})
	const boxes = `[...document.querySelectorAll("#waterfall .stacks [role=treeitem]")]`
	p.wait(boxes + `.length > 3`)
	if outside := eval[[]string](p, `(() => {
		const axis = document.querySelector("#waterfall .axis").getBoundingClientRect();
		return `+boxes+`.filter((n) => {
			const { left, right, width } = n.getBoundingClientRect();
			return left < axis.left - 1 || right > axis.right + 1 || width < 1;
		}).map((n) => n.title);
	})()`); len(outside) > 0 {
		t.Errorf("outside of the axis: %q", outside)
	}
	// Each box is within the one that called it.
	if wrong := eval[[]string](p, boxes+`.filter((n, i, all) => {
		const level = Number(n.ariaLevel);
		const { left, right } = n.getBoundingClientRect();
		return level > 1 && !all.some((m) => {
			const above = m.getBoundingClientRect();
			return Number(m.ariaLevel) === level - 1 && above.left <= left + 1 && above.right >= right - 1;
		});
	}).map((n) => n.title)`); len(wrong) > 0 {
		t.Errorf("not below their callers: %q", wrong)
	}

	eval[bool](p, `(document.querySelector("#waterfall .stacks [tabindex='0']").focus(), true)`)
	p.press(kb.Home)
	p.wait(`document.activeElement.ariaLevel === "1"`)
	p.press(kb.ArrowDown)
	p.wait(`document.activeElement.ariaLevel === "2"`)
	name := eval[string](p, `document.activeElement.dataset.name`)
	if about := p.text("#waterfall tr:has(.stacks) .about"); len(about) < len(name) || about[:len(name)] != name {
		t.Errorf("beside the chart is %q, want the facts of %s", about, name)
	}
	const whole = `document.querySelector("#minimap").classList.contains("whole")`
	p.press(kb.Enter)
	p.wait(`!` + whole + ` && document.activeElement.dataset.name === ` + quoted(name))
	if shown := eval[float64](p, `(() => {
		const { width } = document.activeElement.getBoundingClientRect();
		return width / document.querySelector("#waterfall .axis").getBoundingClientRect().width;
	})()`); shown < 0.8 {
		t.Errorf("the box that was zoomed to has %.2f of the axis", shown)
	}
	p.press(kb.Escape)
	p.wait(whole)
	p.press(kb.ArrowUp)
	p.wait(`document.activeElement.ariaLevel === "1"`)

	box := eval[[2]float64](p, `(() => {
		const n = document.activeElement.getBoundingClientRect();
		return [n.left + n.width / 2, n.top + n.height / 2];
	})()`)
	p.must(p.do(chromedp.MouseClickXY(box[0], box[1], chromedp.ClickCount(2))))
	p.wait(`!` + whole)
}
