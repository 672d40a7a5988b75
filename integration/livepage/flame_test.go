package livepage

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// The flame graphs of a session, of a route and of a request show the code that ran, and no
// more of it than the whole.
func TestFlameGraphs(t *testing.T) {
	p := openRecorded(t, fmt.Sprintf("#/sessions/%d", recorded.session), View{})
	p.wait(`document.querySelector("#flames li a")`)

	p.click("#flames li a")
	p.wait(`document.querySelector("#flame [role=treeitem]")`)
	whole, time := p.flame()
	if !strings.Contains(whole, "main.addParts") || !strings.Contains(whole, "runtime.") {
		t.Errorf("the whole session's flame graph has\n%s\nwant the shop's index and the runtime", whole)
	}
	p.must(p.Back())

	search := `[...document.querySelectorAll("#flames li a")].find((a) => a.textContent === "GET /search")`
	p.wait(search)
	p.show(eval[string](p, search+`.hash`))
	p.wait(`document.querySelector("h1")?.textContent === "Profile of all requests GET /search" && document.querySelector("#flame [role=treeitem]")`)
	route, routeTime := p.flame()
	if !strings.Contains(route, "main.addParts") || strings.Contains(route, "main.renderHome") {
		t.Errorf("the flame graph of GET /search has\n%s\nwant the shop's index, and nothing of other routes", route)
	}
	if routeTime <= 0 || routeTime > time {
		t.Errorf("GET /search ran %g ms, the whole session %g", routeTime, time)
	}

	p.show(recorded.request)
	p.wait(`document.querySelector("#ran #flame [role=treeitem]")`)
	_, requestTime := p.flame()
	if requestTime <= 0 || requestTime > time {
		t.Errorf("the request ran %g ms, the whole session %g", requestTime, time)
	}
	// The waterfall shows the functions of each span, too.
	p.wait(`/^ran ([0-9.]+ (ms|s)|in [0-9]+ samples?)$/.test(document.querySelector("#waterfall tr.ran .pick bdi")?.innerText) && document.querySelector("#waterfall tr.ran .hot").innerText.includes("%")`)
}

// Keys lead to callers, to calls, and to the calls beside. Enter zooms, and Escape or the button shows the whole again.
func TestFlameByKeys(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, `(async () => {
		const { flame } = await import(location.pathname + "page/flame.js");
		const functions = ["all", "a", "b", "c", "d"].map((name) => ({ name, kind: "own" }));
		const node = (parent, f, total) => ({ parent, function: f, total, self: 0 });
		const nodes = [node(-1, 0, 100), node(0, 1, 60), node(1, 3, 30), node(1, 4, 20), node(0, 2, 40)];
		document.getElementById("main").replaceChildren(flame({ title: "test", samples: 1, total: 100, interval: 10, engine: "cpu", functions, nodes }));
		return true;
	})()`)
	eval[bool](p, `(document.querySelector("#flame [tabindex='0']").focus(), true)`)
	const whole = `document.querySelector("#flame-reset").disabled`
	for i, step := range []struct {
		key, want string
		whole     bool
	}{
		{kb.ArrowDown, "a", true},
		{kb.ArrowRight, "b", true},
		{kb.ArrowRight, "b", true},
		{kb.ArrowLeft, "a", true},
		{kb.ArrowDown, "c", true},
		{kb.ArrowRight, "d", true},
		{kb.ArrowUp, "a", true},
		{kb.Enter, "a", false},
		{kb.ArrowUp, "all", false},
		{kb.ArrowDown, "a", false},
		{kb.ArrowRight, "a", false}, // b is not drawn
		{kb.ArrowDown, "c", false},
		{kb.Escape, "c", true},
		{kb.Home, "all", true},
	} {
		p.press(step.key)
		name, isWhole := eval[string](p, `document.activeElement.dataset.name`), eval[bool](p, whole)
		if name != step.want || isWhole != step.whole {
			t.Errorf("key %d leads to %q, want %q; the whole is shown: %t, want %t", i, name, step.want, isWhole, step.whole)
		}
		if about := p.text("#flame-about"); !strings.HasPrefix(about, name+" ") && step.key != kb.Escape {
			t.Errorf("after key %d, the facts are %q, want the facts of %s", i, about, name)
		}
	}
	p.click("#flame [data-name=b]")
	p.wait(`!` + whole + ` && !document.querySelector("#flame [data-name=a]")`)
	p.click("#flame-reset")
	p.wait(whole + ` && document.querySelector("#flame [data-name=a]")`)
}

// flame is the functions that are drawn, each on a line, and the milliseconds of all.
func (p tab) flame() (functions string, all float64) {
	p.t.Helper()
	// The graph may have come under the pointer, and then it tells of the function there. In one go, so that the pointer
	// does not come in between.
	graph := eval[struct{ Functions, About string }](p, `(() => {
		const all = [...document.querySelectorAll("#flame [role=treeitem]")];
		all[0].dispatchEvent(new PointerEvent("pointerover", {bubbles: true}));
		return {Functions: all.map((n) => n.dataset.name).join("\n"), About: document.querySelector("#flame-about").innerText};
	})()`)
	about := regexp.MustCompile(`^all 100\.0 % of all, ([0-9.]+) (ms|s)`).FindStringSubmatch(graph.About)
	if about == nil {
		p.t.Fatalf("of the whole the flame graph says %q", graph.About)
	}
	all, err := strconv.ParseFloat(about[1], 64)
	p.must(err)
	if about[2] == "s" {
		all *= 1000
	}
	return graph.Functions, all
}
