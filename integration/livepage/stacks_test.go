package livepage

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The samples of a span are a flame chart below it, on the request's axis. Keys go through its boxes, and zoom.
func TestStacksOfSpan(t *testing.T) {
	p := openRecorded(t, recorded.request, View{})
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

// madeUpStacks shows the samples of a span of 100 ms, each with its time and its stack. Stack 0 is main. Stacks 1 and 2 are a and b below main.
// Stacks 3 and 4 are c and d below a.
func madeUpStacks(t *testing.T, samples string) tab {
	t.Helper()
	p := madeUp(t)
	eval[bool](p, `(async () => {
		const { charter } = await import(location.pathname + "page/stacks.js");
		const { windowOf } = await import(location.pathname + "page/axis.js");
		const { setVars } = await import(location.pathname + "page/dom.js");
		const main = document.getElementById("main");
		const about = document.createElement("p");
		about.id = "about";
		main.replaceChildren();
		setVars(main, { from: 0, zoom: 1 });
		const data = {
			interval: 10, frames: ["main", "a", "b", "c", "d"].map((name) => ({ name, kind: "own" })),
			stacks: [[0, -1], [1, 0], [2, 0], [3, 1], [4, 1]], spans: [{ id: "1", samples: `+samples+`.map(([at, stack]) => [at, 10, stack]) }],
		};
		main.append(about, charter(data, windowOf(100), main)({ id: "1", name: "work", start: 0, took: 100 }, about));
		return true;
	})()`)
	return p
}

// The arrow keys lead to the first call within a call, back to its caller, and to the calls before and after it.
func TestStacksByKeys(t *testing.T) {
	p := madeUpStacks(t, `[[5, 2], [15, 3], [25, 4], [35, 2]]`)
	eval[bool](p, `(document.querySelector(".stacks [tabindex='0']").focus(), true)`)
	const at = `document.activeElement.title.replace(/\n.* from /, " ")`
	for i, step := range []struct{ key, want string }{
		{kb.Home, "main 0 to 40.0 ms"},
		{kb.ArrowDown, "b 0 to 10.0 ms"},
		{kb.ArrowRight, "a 10.0 ms to 30.0 ms"},
		{kb.ArrowDown, "c 10.0 ms to 20.0 ms"},
		{kb.ArrowDown, "c 10.0 ms to 20.0 ms"}, // nothing is below it
		{kb.ArrowRight, "d 20.0 ms to 30.0 ms"},
		{kb.ArrowRight, "d 20.0 ms to 30.0 ms"},
		{kb.ArrowLeft, "c 10.0 ms to 20.0 ms"},
		{kb.ArrowUp, "a 10.0 ms to 30.0 ms"},
		{kb.ArrowRight, "b 30.0 ms to 40.0 ms"},
		{kb.ArrowUp, "main 0 to 40.0 ms"},
	} {
		p.press(step.key)
		if got := eval[string](p, at); got != step.want {
			t.Errorf("key %d leads to %q, want %q", i, got, step.want)
		}
		if !eval[bool](p, `(([only, ...more]) => only === document.activeElement && more.length === 0)(document.querySelectorAll(".stacks [tabindex='0']"))`) {
			t.Errorf("after key %d, the tab key does not come to the focused box alone", i)
		}
		if got, want := p.text("#about .said"), eval[string](p, `document.activeElement.title.replace("\n", " ")`); got != want {
			t.Errorf("beside the chart is %q, want %q", got, want)
		}
	}
}

// Samples of more goroutines than the chart has room for are counted beside it.
func TestStacksOfManyGoroutines(t *testing.T) {
	p := madeUpStacks(t, `Array.from({ length: 8 }, () => [5, 1])`)
	if got := p.text("#about"); !strings.Contains(got, "8 samples, each") || !strings.Contains(got, "2 samples not drawn: more than 6 goroutines at a time.") {
		t.Errorf("beside the chart is %q", got)
	}
	if n := eval[int](p, `document.querySelectorAll(".stacks [data-name=a]").length`); n != 6 {
		t.Errorf("%d boxes are drawn, want 6", n)
	}
}
