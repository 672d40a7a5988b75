package livepage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/perfline/perfline/exporter/live"
	"github.com/perfline/perfline/exporter/requests"
	"github.com/perfline/perfline/exporter/runtimestats"
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

// A restarting program has another history after each restart.
type restarting struct {
	waiting
	history *runtimestats.History
}

func (r *restarting) Runtime() *runtimestats.History { return r.history }

// After a restart of the program, the page connects again and shows the new program's samples alone.
func TestRuntimeAfterRestart(t *testing.T) {
	var page atomic.Pointer[http.Handler]
	begin := func() {
		h := runtimestats.Start(runtimestats.Config{})
		t.Cleanup(h.Stop)
		handler := http.StripPrefix("/p", live.Handler(&restarting{waiting{recent: requests.NewRecent(requests.Config{})}, h}, live.Config{Prefix: "/"}))
		page.Store(&handler)
	}
	begin()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*page.Load()).ServeHTTP(w, r) }))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b, err := chrome.Open(server.URL+"/p/#/runtime", View{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close) // it sees the connection break, which is no fault here
	p := tab{b, t}
	p.wait(`document.querySelector("[data-chart=heap]")?.checkVisibility()`)
	p.click("[data-chart=heap] summary")
	p.wait(`document.querySelectorAll("[data-chart=heap] tbody tr").length >= 2`)
	last := eval[float64](p, `Number(document.querySelector("[data-chart=heap] tbody tr").dataset.key)`)
	begin()
	server.CloseClientConnections()
	p.wait(fmt.Sprintf(`[...document.querySelectorAll("[data-chart=heap] tbody tr")].every((tr) => Number(tr.dataset.key) > %f) && document.querySelector("#stream-state").textContent === "live"`, last))
}

// A page without a stream asks for the samples after its last one, and merges them. Samples of another instance replace the others.
func TestPollingAsksForNewSamples(t *testing.T) {
	p := madeUp(t) // whose own stream is paused
	got := eval[[]string](p, `(async () => {
		const { stream } = await import(location.pathname + "page/stream.js");
		const { lastOf, merged } = await import(location.pathname + "page/history.js");
		window.EventSource = class { static CLOSED = 2; readyState = 2; constructor() { setTimeout(() => this.onerror()); } addEventListener() {} close() {} };
		const asked = [];
		let history;
		const sample = (...times) => times.map((at) => ({ at }));
		const turn = (samples, instance) => new Promise((done) => {
			window.fetch = async (path) => (asked.push(path), new Response(JSON.stringify({ runtime: { instance, maxSamples: 3, samples } })));
			const s = stream((kind, data) => { history = merged(history, data); s.pause(true); done(); }, () => {}, () => lastOf(history));
		});
		const times = () => history.samples.map((s) => s.at).join();
		await turn(sample(1, 2), "a");
		const out = [asked.at(-1), times()];
		await turn(sample(2, 3, 4), "a");
		out.push(asked.at(-1), times());
		await turn(sample(7), "b");
		return [...out, times()];
	})()`)
	want := []string{"data/v1/overview?after=", "1,2", "data/v1/overview?after=2", "2,3,4", "7"}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %q, want %q", got, want)
	}
}
