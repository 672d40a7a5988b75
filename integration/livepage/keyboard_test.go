package livepage

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func (p tab) press(keys string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	p.must(p.Press(keys, modifiers...))
}

// insert gives a field a text at once. Between two keys, the page may ask for what is half a text, and a refusal is
// a fault.
func (p tab) insert(text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
	p.must(err)
}

// until presses a key until an expression is true, and asks only between two presses.
func (p tab) until(key, expression string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	for range 300 {
		p.press(key, modifiers...)
		if eval[bool](p, expression) {
			return
		}
	}
	p.t.Fatalf("%q is pressed 300 times, and not %s; the focus is on %s", key, expression, eval[string](p, `document.activeElement.outerHTML`))
}

// usable numbers the elements that the tab key must reach: every element that a mouse can
// use. Arrow keys lead on from the checked radio button of a group, from the selected tab, and from one
// item of a tree. An open dialog hides the rest. The beginning of a long list stands for the list.
const usable = `(() => {
	const root = document.querySelector("dialog[open]") ?? document;
	const all = [...root.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter((n) =>
		!n.disabled && n.checkVisibility({ visibilityProperty: true }) && (n.type !== "radio" || n.checked) &&
		(n.role !== "tab" || n.ariaSelected === "true"));
	all.splice(100);
	all.forEach((n, i) => { n.dataset.reach = i; });
	return all.length;
})()`

// focused is the number of what has the focus, -1 of what has none, and whether that is to be seen.
const focused = `(() => {
	const n = document.activeElement;
	const { outlineStyle, outlineWidth } = getComputedStyle(n);
	const { width, height } = n.getBoundingClientRect();
	return {
		number: Number(n.dataset.reach ?? -1),
		seen: n.matches(":focus-visible") && outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 && width > 0 && height > 0,
		what: n.outerHTML.slice(0, 200),
	};
})()`

// reachable checks that the tab key comes to everything that can be used, and that one sees where
// it is.
func (p tab) reachable() {
	p.t.Helper()
	left := map[int]bool{}
	for i := range eval[int](p, usable) {
		left[i] = true
	}
	if len(left) < 2 {
		p.t.Fatalf("only %d things can be used", len(left))
	}
	eval[bool](p, `(document.querySelector(".brand a").focus(), true)`) // the first thing comes next then, unless there is a dialog
	p.press(kb.Tab, chromedp.ModifierShift)
	for range len(left) + 50 {
		at := eval[struct {
			Number int
			Seen   bool
			What   string
		}](p, focused)
		if at.Number >= 0 && !at.Seen { // others are the document's end, and what scrolls
			p.t.Errorf("one cannot see that the focus is on %s", at.What)
		}
		delete(left, at.Number)
		if len(left) == 0 {
			return
		}
		p.press(kb.Tab)
	}
	for i := range left {
		p.t.Errorf("the tab key does not come to %s", eval[string](p, fmt.Sprintf(`document.querySelector("[data-reach='%d']").outerHTML`, i)))
	}
}

// Arrow keys go through lists and trees, Enter opens, Escape goes back, and the first thing on each page leads
// past what is on all of them.
func TestKeyboardMoves(t *testing.T) {
	p := openRecorded(t, "", View{})
	p.wait(`document.querySelectorAll("#slowest tbody tr").length > 2`)
	p.press(kb.Tab)
	p.wait(`document.activeElement.id === "skip" && document.activeElement.getBoundingClientRect().top >= 0`)
	p.press(kb.Enter)
	p.wait(`document.activeElement.id === "main"`)

	p.until(kb.Tab, `document.activeElement.matches("#slowest tbody a")`)
	p.press(kb.ArrowDown)
	p.wait(`document.activeElement === document.querySelectorAll("#slowest tbody a")[1]`)
	p.press(kb.End + kb.Home + kb.Enter)
	p.wait(`document.querySelector("#waterfall") && document.activeElement.id === "main"`)
	p.until(kb.Tab, `document.activeElement.matches(".pick")`)
	rows := eval[int](p, `document.querySelectorAll("#waterfall tbody tr:not([hidden])").length`)
	p.press(kb.ArrowLeft)
	p.wait(`document.querySelectorAll("#waterfall tbody tr:not([hidden])").length === 1`)
	p.press(kb.ArrowRight)
	p.wait(fmt.Sprintf(`document.querySelectorAll("#waterfall tbody tr:not([hidden])").length === %d`, rows))
	p.press(kb.ArrowDown + kb.Enter)
	p.wait(`document.activeElement.matches("#waterfall tbody tr:nth-child(2) .pick[aria-current=true]")`)

	p.show(fmt.Sprintf("#/profile?session=%d", recorded.session))
	p.wait(`document.querySelector("#flame [role=treeitem]")`)
	p.until(kb.Tab, `document.activeElement.matches("[role=treeitem]")`)
	p.press(kb.ArrowDown)
	inner := eval[string](p, `document.activeElement.dataset.name`)
	if inner == "all" {
		t.Error("arrow down stays at the whole")
	}
	p.press(kb.Enter)
	p.wait(`!document.querySelector("#flame-reset").disabled && document.activeElement.dataset.name === ` + fmt.Sprintf("%q", inner) +
		` && document.activeElement.getBoundingClientRect().width > 0.9 * document.querySelector("#flame").clientWidth`)
	p.press(kb.Escape)
	p.wait(`document.querySelector("#flame-reset").disabled`)
	p.until(kb.Tab, `document.activeElement.id === "flame-search"`, chromedp.ModifierShift)
	p.press("runtime.")
	p.wait(`/^[1-9]\d* places?, /.test(document.querySelector("#flame-found").innerText) && document.querySelector("#flame.searching .found")`)

	p.must(p.Back())
	p.wait(`document.querySelector("#waterfall")`)
	p.must(p.Back())
	p.wait(`document.querySelector("#recent")`)
}
