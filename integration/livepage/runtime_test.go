package livepage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// samples is a made-up history: n samples after some time, of which the fourth and the fifth are missing.
func samples(from, n int) string {
	var all []string
	for i := from; i < from+n; i++ {
		if i == 3 || i == 4 {
			continue
		}
		lost := ""
		if i == 6 {
			lost = `, losses: [{ group: "perfline.entries", kind: "mark", name: "overflow", what: "not on the full timeline", n: 7 }]`
		}
		user := ""
		if i%3 == 0 {
			user = `, cpuUser: 0.5, cpuGC: 0.25`
		}
		all = append(all, fmt.Sprintf(`{ at: %d, interval: 5000, heap: %d, heapGoal: 8388608, goroutines: 12, cpu: 0.5, processors: 2, gcCycles: %d, lost: %d%s%s }`,
			1_700_000_000_000+i*5000, (i+1)<<20, i%2, map[bool]int{true: 7}[i == 6], lost, user))
	}
	return `{ instance: "a", every: 5000, maxSamples: 60, samples: [` + strings.Join(all, ", ") + `] }`
}

// The charts have values, ranges and tables; a time without samples is a gap, and losses are in the colour of a failure.
func TestRuntimeCharts(t *testing.T) {
	p := madeUp(t)
	p.view("runtime.js", "runtimePage", `[]`, `{ runtime: `+samples(0, 10)+`, page: { started: 1699999990000 } }`)
	for css, wants := range map[string][]string{
		"#runtime-facts":        {"8 samples, one every 5.00 s", "The page's handler started at"},
		"#runtime-losses":       {"7 entries of type mark not on the full timeline"},
		"[data-chart=heap]":     {"Heap", "in use 10.0 MiB", "goal 8.00 MiB", "min 1.00 MiB, max 10.0 MiB"},
		"[data-chart=cpu]":      {"used 0.50 cores", "GOMAXPROCS 2.00 cores"},
		"[data-chart=classes]":  {"garbage collection 0.25 cores"},
		"[data-chart=lost] h2":  {"Losses"},
		"[data-chart=gc] .plot": {""},
	} {
		for _, want := range wants {
			if got := p.text(css); !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
				t.Errorf("%s is %q, want %q in it", css, got, want)
			}
		}
	}
	if hidden := eval[bool](p, `document.querySelector("[data-chart=delivery]").checkVisibility()`); hidden {
		t.Error("without a backend there is a chart of the delivery")
	}
	// A line begins anew after the gap: two parts. Values by class are dots with gaps between them.
	for css, want := range map[string]int{"[data-chart=heap] path": 2, "[data-chart=classes] path": 3, "[data-chart=lost] path": 1, "[data-chart=gc] path": 4} {
		if got := eval[int](p, fmt.Sprintf(`document.querySelector(%q).getAttribute("d").split("M").length - 1`, css)); got != want {
			t.Errorf("the line of %s has %d parts, want %d", css, got, want)
		}
	}
	colour := func(css string) string {
		return eval[string](p, fmt.Sprintf(`getComputedStyle(document.querySelector(%q)).stroke`, css))
	}
	eval[bool](p, `(() => { const n = document.createElement("p"); n.className = "failure"; n.id = "bad"; document.querySelector("main").append(n); return true })()`)
	if bad := eval[string](p, `getComputedStyle(document.querySelector("#bad")).color`); colour("[data-chart=lost] path") != bad {
		t.Errorf("losses have the colour %s, a failure %s", colour("[data-chart=lost] path"), bad)
	}

	p.click("[data-chart=heap] summary")
	p.wait(`document.querySelectorAll("[data-chart=heap] tbody tr").length === 8`)
	if got := strings.Fields(p.text("[data-chart=heap] tbody tr:last-child")); len(got) != 5 || got[1]+" "+got[2] != "1.00 MiB" || got[3]+" "+got[4] != "8.00 MiB" {
		t.Errorf("the oldest row is %q", got)
	}
}

// Arrow keys read the values of a chart, and all charts show the same time. The focus and the time stay when a sample comes.
func TestRuntimeReadOut(t *testing.T) {
	p := madeUp(t)
	p.view("runtime.js", "runtimePage", `[]`, `{ runtime: `+samples(0, 10)+` }`)
	eval[bool](p, `(document.querySelector("#plot-heap").focus(), true)`)
	valueText := `document.querySelector("#plot-heap").getAttribute("aria-valuetext")`
	is := func(keys, want string) {
		t.Helper()
		if keys != "" {
			p.press(keys)
		}
		p.wait(fmt.Sprintf(`%s.endsWith(%q)`, valueText, want))
	}
	is(kb.ArrowLeft, "in use 9.00 MiB, goal 8.00 MiB")
	is(kb.ArrowLeft+kb.ArrowLeft, "in use 7.00 MiB, goal 8.00 MiB")
	is(kb.ArrowRight, "in use 8.00 MiB, goal 8.00 MiB")
	is(kb.ArrowLeft, "in use 7.00 MiB, goal 8.00 MiB")
	p.wait(`document.querySelector("[data-chart=lost] .value").innerText === "7" && document.querySelector("[data-chart=lost].lost")`)
	p.wait(`[...document.querySelectorAll(".chart:not([hidden]) .cursor")].every((n) => n.getAttribute("d") === document.querySelector(".cursor").getAttribute("d") && n.getAttribute("d"))`)
	p.tell("runtime", samples(0, 12))
	is("", "in use 7.00 MiB, goal 8.00 MiB")
	if id := eval[string](p, `document.activeElement.id`); id != "plot-heap" {
		t.Errorf("the focus went to %q when a sample came", id)
	}
	is(kb.Home, "in use 1.00 MiB, goal 8.00 MiB")
	is(kb.ArrowLeft, "in use 1.00 MiB, goal 8.00 MiB")
	is(kb.Escape, "in use 12.0 MiB, goal 8.00 MiB")
	if d := eval[string](p, `document.querySelector("#plot-heap .cursor").getAttribute("d")`); d != "" {
		t.Errorf("after Escape the cursor is at %q", d)
	}
	// The mouse points at the nearest sample, here at the first one.
	eval[bool](p, `(() => {
		const { left, width, top } = document.querySelector("#plot-gc").getBoundingClientRect();
		document.querySelector("#plot-gc").dispatchEvent(new PointerEvent("pointermove", { clientX: left + width * 48 / 59, clientY: top + 5 }));
		return true;
	})()`)
	is("", "in use 1.00 MiB, goal 8.00 MiB")
	eval[bool](p, `(document.querySelector("#plot-gc").dispatchEvent(new PointerEvent("pointerleave")), true)`)
	is("", "in use 12.0 MiB, goal 8.00 MiB")
}

// After a restart of the program, the page connects again and shows the new program's samples alone.
func TestRuntimeAfterRestart(t *testing.T) {
	r := startReplay(t)
	history := func(instance string, at ...int) json.RawMessage {
		var all []string
		for _, ms := range at {
			all = append(all, fmt.Sprintf(`{"at":%d,"interval":5000,"heap":1048576,"lost":0}`, ms))
		}
		return json.RawMessage(fmt.Sprintf(`{"instance":%q,"every":5000,"maxSamples":60,"samples":[%s]}`, instance, strings.Join(all, ",")))
	}
	r.tell("runtime", history("a", 5000, 10000))
	p := openWithFaults(t, r.page+"#/runtime", View{}) // it sees the connection break, which is no fault here
	p.wait(`document.querySelector("[data-chart=heap]")?.checkVisibility()`)
	p.click("[data-chart=heap] summary")
	const shown = `[...document.querySelectorAll("[data-chart=heap] tbody tr")].map((tr) => tr.dataset.key).join()`
	p.wait(shown + ` === "10000,5000"`)
	r.tell("runtime", history("a", 15000))
	p.wait(shown + ` === "15000,10000,5000"`)
	r.mu.Lock()
	r.events["runtime"] = history("b", 20000)
	r.mu.Unlock()
	r.drop()
	p.wait(shown + ` === "20000" && document.querySelector("#stream-state").textContent === "live"`)
}
